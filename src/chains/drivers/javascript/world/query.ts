/** `URLSearchParams`, as the URL standard has it. */
import { decodeBytes, encodeText } from "./utf8.ts";

type Pair = [name: string, value: string];
type Given = string | Iterable<readonly string[]> | Readonly<Record<string, unknown>> | undefined;

export class Query {
  #pairs: Pair[];
  #changed: ((text: string) => void) | undefined;

  constructor(given?: Given, changed?: (text: string) => void) {
    this.#pairs = pairsOf(given);
    this.#changed = typeof changed === "function" ? changed : undefined;
  }

  get size(): number {
    return this.#pairs.length;
  }

  append(name: unknown, value: unknown): void {
    this.#pairs.push([String(name), String(value)]);
    this.#tell();
  }

  delete(name: unknown, value?: unknown): void {
    this.#pairs = this.#pairs.filter(
      ([key, has]) => key !== String(name) || (value !== undefined && has !== String(value)),
    );
    this.#tell();
  }

  get(name: unknown): string | null {
    return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null;
  }

  getAll(name: unknown): string[] {
    return this.#pairs.flatMap(([key, value]) => (key === String(name) ? [value] : []));
  }

  has(name: unknown, value?: unknown): boolean {
    return this.#pairs.some(([key, has]) => key === String(name) && (value === undefined || has === String(value)));
  }

  set(name: unknown, value: unknown): void {
    const first = this.#pairs.find(([key]) => key === String(name));
    if (first === undefined) this.#pairs.push([String(name), String(value)]);
    else {
      first[1] = String(value);
      this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== String(name));
    }
    this.#tell();
  }

  sort(): void {
    this.#pairs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
    this.#tell();
  }

  forEach(each: (value: string, name: string, all: Query) => void, self?: unknown): void {
    for (const [name, value] of this.#pairs) each.call(self, value, name, this);
  }

  *entries(): IterableIterator<Pair> {
    for (const [name, value] of this.#pairs) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#pairs) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this.#pairs) yield value;
  }

  [Symbol.iterator](): IterableIterator<Pair> {
    return this.entries();
  }

  toString(): string {
    return this.#pairs.map(([name, value]) => `${formEncoded(name)}=${formEncoded(value)}`).join("&");
  }

  #tell(): void {
    this.#changed?.(this.toString());
  }
}

function pairsOf(given: Given): Pair[] {
  if (given === undefined || given === null) return [];
  if (typeof given !== "object") return parsed(String(given));
  if (Symbol.iterator in given) {
    return [...given].map((pair) => {
      const [name, value, ...more] = [...pair];
      if (value === undefined || more.length > 0) throw new TypeError("Each query pair must have a name and a value.");
      return [String(name), String(value)];
    });
  }
  return Object.entries(given).map(([name, value]) => [name, String(value)]);
}

function parsed(text: string): Pair[] {
  return text
    .replace(/^\?/, "")
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const at = part.indexOf("=");
      const [name, value] = at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
      return [formDecoded(name), formDecoded(value)];
    });
}

/** Never throws: what is no escape stays as it is. */
function formDecoded(text: string): string {
  return percentDecoded(text.replaceAll("+", " "));
}

export function percentDecoded(text: string): string {
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) =>
    decodeBytes(Uint8Array.from(run.slice(1).split("%"), (hex) => Number.parseInt(hex, 16))),
  );
}

function formEncoded(text: string): string {
  return percentEncoded(text, /[A-Za-z0-9*\-._ ]/).replaceAll(" ", "+");
}

/** @param kept characters that stand for themselves */
export function percentEncoded(text: string, kept: RegExp): string {
  let encoded = "";
  for (const letter of text)
    encoded += kept.test(letter)
      ? letter
      : [...encodeText(letter)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
  return encoded;
}
