/**
 * What a search for requests and calls looks at: the names and the texts that a list shows. Rows are stored redacted, so
 * a search finds no secret.
 *
 * A store first finds candidates in its stored JSON (`likePatterns`), then `mentions` decides.
 */
import { type ApprovalRecord, isJsonObject, type Json, type ToolCall } from "@postern/core";

/** Further characters of one row are not searched. */
const mostCharacters = 65_536;
/** Further words of a search are ignored. */
const mostWords = 16;

/** The words of a search, in lower case. A row is found if each of them occurs in it. */
export function wordsOf(search: string): readonly string[] {
  return search.toLowerCase().split(/\s+/u).filter(Boolean).slice(0, mostWords);
}

/** Whether each word occurs in the text, which is in lower case. */
export function mentions(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

/** The searched text of a request: id, tool, people, run, arguments, what the tool says of them, reasons. */
export function requestText(approval: ApprovalRecord): string {
  const { id, tool, action, principal, runId, arguments: given, summary, preview, reason, decision } = approval;
  const names = [id, tool, action, principal.agent, principal.user, runId, summary, preview?.summary, reason];
  return textOf([...names, decision?.by, decision?.reason], given);
}

/** The searched text of a call: id, tool, people, run and arguments. */
export function callText(call: Pick<ToolCall, "id" | "tool" | "action" | "authority" | "arguments">): string {
  const { id, tool, action, authority, arguments: given } = call;
  const { principal, runId } = authority;
  return textOf([id, tool, action, principal.agent, principal.user, runId], given);
}

/**
 * For each word a pattern of SQL's `like ? escape '!'`, for stored JSON. It matches each text in which the word occurs, and
 * some others. `like` ignores the case of ASCII letters alone, so any character may stand for another letter.
 */
export function likePatterns(words: readonly string[]): readonly string[] {
  return words.map((word) => `%${Array.from(inJson(word), patternOf).join("")}%`);
}

/** Whether each word may occur in a text that this JSON holds: cheaper than to read the JSON. */
export function mayMention(json: string, words: readonly string[]): boolean {
  return mentions(json.toLowerCase(), words.map(inJson));
}

function inJson(word: string): string {
  return JSON.stringify(word).slice(1, -1);
}

function patternOf(character: string): string {
  if (character === "!" || character === "%" || character === "_") return `!${character}`;
  const isAscii = character <= "\u007f";
  return isAscii || character.toLowerCase() === character.toUpperCase() ? character : "_";
}

function textOf(names: readonly (string | undefined)[], given: Json): string {
  const parts: string[] = names.filter((name) => name !== undefined);
  let left = mostCharacters;
  for (const text of textsIn(given)) {
    if (left <= 0) break;
    parts.push(text.slice(0, left));
    left -= text.length;
  }
  return parts.join("\n").toLowerCase();
}

/** The keys and values of JSON, in their order. */
function* textsIn(value: Json): Generator<string, void> {
  if (Array.isArray(value)) for (const one of value) yield* textsIn(one as Json);
  else if (isJsonObject(value))
    for (const [key, member] of Object.entries(value)) {
      yield key;
      yield* textsIn(member);
    }
  else yield String(value);
}
