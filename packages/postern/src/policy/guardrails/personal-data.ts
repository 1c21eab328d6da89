import { checkGuardrailOptions, type PersonalDataKind, type PersonalDataOptions } from "./guardrail-options.ts";
import type { Guardrail } from "./guardrails.ts";
import { withoutDisguise } from "./plain-text.ts";
import { textGuardrail } from "./text-guardrail.ts";

/**
 * Finds card numbers and IBANs by their check digits, and mail addresses and phone numbers by their form.
 *
 * @example
 * personalData({ tools: ["mail__*"], kinds: ["card", "iban", "phone"] })
 *
 * @public
 */
export function personalData(options: PersonalDataOptions = {}): Guardrail {
  checkGuardrailOptions("personalData", options, "personal-data");
  const { kinds = ["card", "iban"] } = options;
  const find = (given: string): readonly string[] => {
    const text = withoutDisguise(given)
      .replaceAll(/\p{Pd}/gu, "-")
      .replaceAll(/[^\S\n]/gu, " ");
    return kinds.filter((kind) => finders.get(kind)?.(text) === true).map((kind) => `it has ${names[kind]}`);
  };
  const effect = { arguments: "CONFIRM", result: "MARK" } as const;
  return textGuardrail({ name: "personal-data", on: "arguments", effect, find }, options);
}

const names: Readonly<Record<PersonalDataKind, string>> = {
  card: "a card number",
  iban: "an IBAN",
  email: "a mail address",
  phone: "a phone number",
};

const finders: ReadonlyMap<PersonalDataKind, (text: string) => boolean> = new Map([
  ["card", (text: string) => cards.some((pattern) => any(text, pattern, isCard))],
  ["iban", (text: string) => any(text, /(?<![a-z0-9])[a-z]{2}\d{2}(?:[ -]{0,2}[a-z0-9]){11,30}(?![a-z0-9])/gi, isIban)],
  ["email", (text: string) => /[\p{L}\p{N}._%+-]@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,4}/u.test(text)],
  ["phone", (text: string) => /(?<![\w+])(?:\+|00)[1-9]\d{0,2}(?:[ ./()-]{0,2}\d){6,12}(?!\d)/.test(text)],
]);

/** With dots and slashes only in the groups of a card, because dates and versions have them too. */
const cards: readonly RegExp[] = [
  /(?<![\d.-])\d(?:[ -]{0,2}\d){12,18}(?![\d.-]?\d)/g,
  /(?<![\d./-])\d{4}([./])(?:\d{4}\1\d{4}\1\d{1,7}|\d{6}\1\d{5})(?![\d./-]?\d)/g,
];

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

/** How long the IBANs of each country are. Without it, many an id in lower case would be one. */
const ibanLengths = new Map(
  [
    ..."AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29".split(
      " ",
    ),
    ..."ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20".split(
      " ",
    ),
    ..."LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29".split(
      " ",
    ),
    ..."PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30".split(
      " ",
    ),
  ].map((entry) => [entry.slice(0, 2), Number(entry.slice(2))] as const),
);

/** ISO 7064: its letters and digits as a number, divided by 97, leave 1. The match may include words after the IBAN. */
function isIban(met: string): boolean {
  const words = met.split(/[ -]+/);
  const length = ibanLengths.get(met.slice(0, 2).toUpperCase());
  const beginnings = words.map((_, at) => words.slice(0, at + 1).join(""));
  return beginnings.some((iban) => iban.length === length && leavesOne(iban));
}

function leavesOne(iban: string): boolean {
  let rest = 0;
  for (const letter of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(letter, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
