/**
 * Who an argument names as recipients.
 *
 * Invariant: each address or name that some sender could read as a recipient counts. Only the display name before
 * `<address>`, a comment and the other parts of a `mailto:` link do not.
 */
import { isJsonObject, type Json } from "@postern/core";

/** A longer text is not read: it counts as too many recipients. */
const longestText = 100_000;
const plainAddress = /^[a-z0-9._-]+@[a-z0-9.-]+$/;
const separators = /[,;|\n\r\t\v\f\u{85}\u{2028}\u{2029}\u{60c}\u{61b}\u{3001}\u{2022}\u{b7}]/u;
const aroundAddress = /[<>()[\]{}'"`,;:|/\\&=?]+/;
const enclosing: ReadonlySet<string | undefined> = new Set("[]{}'\"`:()\\");
const joiningWords: ReadonlySet<string> = new Set(["and", "or", "&", "+"]);

/** In lower case, without invisible characters. Returns undefined when the text is too long. */
export function recipientsIn(value: Json | undefined): readonly string[] | undefined {
  const found: string[] = [];
  return collect(value, found) ? found : undefined;
}

function collect(value: Json | undefined, found: string[]): boolean {
  if (typeof value === "string") return collectText(value, found);
  if (typeof value === "number") found.push(String(value));
  if (Array.isArray(value)) return (value as readonly Json[]).every((inner) => collect(inner, found));
  if (!isJsonObject(value)) return true;
  // `{ name: "Ada", email: "ada@acme.com" }` is one recipient; `{ "ada@acme.com": "Ada" }` too.
  const inner: string[] = [];
  for (const [name, one] of Object.entries(value))
    if (!collect(one, inner) || (name.includes("@") && !collect(name, inner))) return false;
  const addresses = inner.filter(isAddress);
  for (const name of new Set(addresses.length > 0 ? addresses : inner)) found.push(name);
  return true;
}

function isAddress(name: string): boolean {
  return name.lastIndexOf("@") > 0;
}

function collectText(given: string, found: string[]): boolean {
  if (given.length > longestText) return false;
  if (plainAddress.test(given)) found.push(given);
  else for (const name of namesIn(given)) found.push(name);
  return true;
}

/** An address in its own display name counts once. */
function namesIn(given: string): ReadonlySet<string> {
  const found = new Set<string>();
  const text = withoutQuotes(withoutComments(decoded(given).toLowerCase().replaceAll("\0", " ")));
  const rest = text.replaceAll(/<([^<>]*)>/g, (_whole, inner: string) => {
    for (const item of mentioned(inner).split(separators)) collectWords(item, false, found);
    return "\0"; // the item has its address, so its other words are a display name
  });
  for (const item of rest.split(separators)) collectWords(item, item.includes("\0"), found);
  return found;
}

/** `#c123|general`, as chat programs write a mention, is one name. */
function mentioned(inner: string): string {
  return /^[#@!]/.test(inner) ? (inner.split("|")[0] ?? inner) : inner;
}

function collectWords(item: string, isNamed: boolean, found: Set<string>): void {
  const joined = item.replaceAll("\0", " ").replaceAll(/(?<=\S)\s+@\s+|@\s+(?=\S)/g, "@");
  for (const word of joined.split(/\s+/)) {
    if (isAddress(word)) for (const address of addressesIn(word)) found.add(address);
    else if (!isNamed) {
      const name = bare(word);
      if (name !== "" && !joiningWords.has(name)) found.add(name);
    }
  }
}

/** Splits `[ada@acme.com]` and `ada@acme.com/bob@acme.com`. Any other word is one address. */
function addressesIn(word: string): readonly string[] {
  const found = word.split(aroundAddress).filter(isAddress);
  return found.length === 0 ? [word] : found;
}

function bare(word: string): string {
  let [start, end] = [0, word.length];
  while (start < end && enclosing.has(word[start])) start += 1;
  while (end > start && enclosing.has(word[end - 1])) end -= 1;
  return word.slice(start, end);
}

/** Normalizes characters, removes invisible ones, and opens links and percent codes. */
function decoded(given: string): string {
  let text = visibleText(given);
  for (let again = 0; again < 3; again += 1) {
    text = text.replaceAll(/mailto:([^\s<>"']*)/gi, (_whole, link: string) => `,${linkedIn(link)},`);
    const opened = visibleText(text.replaceAll(/(?:%[0-9a-f]{2})+/gi, percentDecoded));
    if (opened === text) break;
    text = opened;
  }
  return text;
}

function visibleText(text: string): string {
  return text.normalize("NFKC").replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "");
}

/** The recipients of a `mailto:` link: its path and its `to`, `cc` and `bcc`, not its subject or body. */
function linkedIn(link: string): string {
  const [path = "", ...query] = link.split("?");
  const fields = query.join("?").split(/&(?:amp;)?/);
  return [path, ...fields.flatMap((field) => /^(?:to|cc|bcc)=(.*)$/is.exec(field)?.[1] ?? [])].join(",");
}

function percentDecoded(codes: string): string {
  try {
    return decodeURIComponent(codes);
  } catch {
    return codes; // no UTF-8, so it is no code
  }
}

/** `everyone(staff)@acme.com` goes to `everyone@acme.com`. A bracket that is not closed is text. */
function withoutComments(text: string): string {
  if (!text.includes("(")) return text;
  const kept: string[] = [];
  const open: number[] = [];
  for (const part of text.split(/([()])/)) {
    if (part === "(") open.push(kept.length);
    const start = part === ")" ? open.pop() : undefined;
    if (start === undefined) kept.push(part);
    else kept.length = start;
  }
  return kept.join("");
}

/** `"everyone"@acme.com` is an address, `"Lovelace, Ada" <ada@acme.com>` a name before one; other quotes only enclose. */
function withoutQuotes(text: string): string {
  const kept: string[] = [];
  let at = 0;
  for (let open = text.indexOf('"'); open >= 0; open = text.indexOf('"', at)) {
    const close = closingQuote(text, open + 1);
    if (close < 0) break;
    kept.push(text.slice(at, open), unquoted(text.slice(open + 1, close).replaceAll(/\\(.)/gs, "$1"), text, close + 1));
    at = close + 1;
  }
  return kept.join("") + text.slice(at).replaceAll('"', " ");
}

function closingQuote(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '"') return at;
    if (text[at] === "\\") at += 1;
  }
  return -1;
}

/** What replaces a quoted text depends on what follows it. */
function unquoted(inner: string, text: string, after: number): string {
  if (text[after] === "@") return `${isAddress(inner) ? `${inner},` : ""}${inner.replaceAll(/[\s,;|<>@]/g, "_")}`;
  const next = /\s*(.?)/sy;
  next.lastIndex = after;
  const isDisplayName = next.exec(text)?.[1] === "<";
  if (!isDisplayName) return ` ${inner} `;
  return isAddress(inner) ? `${inner},` : "";
}
