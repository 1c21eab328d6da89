import { type Guardrail, invalid } from "./guardrails.ts";
import { type TextGuardrailOptions, textGuardrail } from "./text-guardrail.ts";

export type PersonalDataKind = "card" | "iban" | "email" | "phone";

/** By default it examines arguments. It says `CONFIRM` for arguments and `MARK` for results by default. */
export interface PersonalDataOptions extends TextGuardrailOptions {
  /** Default `card` and `iban`, which have check digits; addresses and phone numbers are in every mail. */
  readonly kinds?: readonly PersonalDataKind[];
}

/**
 * Finds card numbers and IBANs by their check digits, and mail addresses and phone numbers by their form.
 *
 * @example
 * personalData({ tools: ["mail__*"], kinds: ["card", "iban", "phone"] })
 *
 * @public
 */
export function personalData(options: PersonalDataOptions = {}): Guardrail {
  const { kinds = ["card", "iban"] } = options;
  for (const kind of kinds)
    if (!finders.has(kind))
      throw invalid(`\`${String(kind)}\` is not a kind of personal data; there are ${[...finders.keys()].join(", ")}.`);
  const find = (text: string): readonly string[] =>
    kinds.filter((kind) => finders.get(kind)?.(text) === true).map((kind) => `it has ${names[kind]}`);
  const says = { arguments: "CONFIRM", result: "MARK" } as const;
  return textGuardrail({ name: "personal-data", on: "arguments", says, find }, options);
}

const names: Readonly<Record<PersonalDataKind, string>> = {
  card: "a card number",
  iban: "an IBAN",
  email: "a mail address",
  phone: "a phone number",
};

const finders: ReadonlyMap<PersonalDataKind, (text: string) => boolean> = new Map([
  ["card", (text: string) => any(text, /(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d.-]?\d)/g, isCard)],
  ["iban", (text: string) => any(text, /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Za-z0-9])/g, isIban)],
  ["email", (text: string) => /[\p{L}\p{N}._%+-]@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,4}/u.test(text)],
  ["phone", (text: string) => /(?<![\w+])(?:\+|00)[1-9]\d{0,2}(?:[ ./()-]{0,2}\d){6,12}(?!\d)/.test(text)],
]);

function any(text: string, pattern: RegExp, isOne: (met: string) => boolean): boolean {
  for (const [met] of text.matchAll(pattern)) if (isOne(met)) return true;
  return false;
}

/** Luhn, and a first digit that issuers use. */
function isCard(met: string): boolean {
  const digits = met.replaceAll(/\D/g, "");
  if (!/^[2-6]/.test(digits) || /^(\d)\1+$/.test(digits)) return false;
  let sum = 0;
  for (const [i, digit] of [...digits].reverse().entries()) {
    const doubled = Number(digit) * (i % 2 === 0 ? 1 : 2);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** ISO 7064: its letters and digits as a number, divided by 97, leave 1. The match may include words after the IBAN. */
function isIban(met: string): boolean {
  const words = met.split(" ");
  for (let count = words.length; count > 0; count -= 1) if (leavesOne(words.slice(0, count).join(""))) return true;
  return false;
}

function leavesOne(iban: string): boolean {
  if (iban.length < 15 || iban.length > 34) return false;
  let rest = 0;
  for (const letter of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(letter, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
