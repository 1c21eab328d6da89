import { RuntimeFault } from "@postern/core";

/**
 * An exported log: its text, its bytes, a stream of pieces of either cut anywhere, or its lines without their breaks (the
 * last may be the empty one that splitting leaves).
 *
 * @public
 */
export type ExportedLog = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/**
 * Its lines, split at line feeds only (`node:readline` also splits at U+2028, which JSON may hold).
 *
 * @throws RuntimeFault `request_invalid` for any other value, also if bytes are not UTF-8: replacing
 * them would hide a change
 */
export async function* readLines(log: ExportedLog): AsyncGenerator<string> {
  const pieces = piecesOf(log);
  const { value: first, done } = await pieces.next();
  if (done === true) return;
  const second = await pieces.next();
  if (second.done !== true && isHeader(first) && /^[{#]/.test(second.value))
    yield* asLines(first, second.value, pieces);
  else yield* splitLines(first, second.done === true ? "" : second.value, pieces);
}

/** No key begins with these letters, so the pieces after such a header are whole lines. */
function isHeader(piece: string): boolean {
  return /^#postern-audit 1 \S+$/.test(piece);
}

async function* asLines(first: string, second: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first;
  let previous = second;
  for await (const line of rest) {
    yield previous;
    previous = line;
  }
  if (previous !== "") yield previous;
}

async function* splitLines(first: string, second: string, others: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = first + second;
  for await (const piece of others) {
    const end = rest.lastIndexOf("\n");
    if (end >= 0) yield* rest.slice(0, end).split("\n");
    rest = rest.slice(end + 1) + piece;
  }
  if (rest === "") return;
  yield* (rest.endsWith("\n") ? rest.slice(0, -1) : rest).split("\n");
}

async function* piecesOf(log: ExportedLog): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  for await (const piece of manyOf(log)) {
    if (typeof piece === "string") yield piece;
    else if (piece instanceof Uint8Array) yield decode(decoder, piece);
    else throw misused(`it holds ${nameOf(piece)}`);
  }
  decode(decoder); // throws if the last bytes are half a character
}

function manyOf(log: ExportedLog): Iterable<unknown> | AsyncIterable<unknown> {
  if (typeof log === "string" || log instanceof Uint8Array) return [log];
  const value: unknown = log; // from JavaScript it may be anything
  if (typeof value === "object" && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value))
    return log;
  throw misused(`it is ${nameOf(value)}`);
}

function misused(why: string): RuntimeFault {
  const forms = "the text or bytes of an exported log, a stream of pieces of it, or its lines";
  return new RuntimeFault("request_invalid", `Nothing was verified: ${why}. Give ${forms}.`);
}

function nameOf(value: unknown): string {
  return value === null ? "`null`" : `a value of type \`${typeof value}\``;
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (error) {
    throw new RuntimeFault("request_invalid", "The file is damaged: its bytes are not UTF-8 text.", { cause: error });
  }
}
