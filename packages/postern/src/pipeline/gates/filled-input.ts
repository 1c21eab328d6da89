import { type JsonObject, referenceKey } from "@postern/core";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import type { Parsed } from "../../tools/tool.ts";
import { takesText, type WantedReference, wantedAt } from "./reference-schemas.ts";
import { filled, type Reference, referencesIn, textOf } from "./references.ts";
import type { FoundCall } from "./stages.ts";

/** What is needed of a call to read its arguments. A worker has no more of it. */
export type ReadableCall = Pick<FoundCall, "arguments" | "authority"> & {
  readonly found: Pick<FoundCall["found"], "facts" | "inputSchema" | "parse" | "takesBytes">;
};
type ReadableStore = Pick<ArtifactStore, "meta" | "open">;

/** Bytes that fit into one string even if every character is escaped. */
export const sureBytes: number = 64 * 2 ** 20;
/** Bytes that fit into one string as base64. */
const mostTextBytes: number = 384 * 2 ** 20;

/** @throws RuntimeFault `artifact_unavailable` */
async function bytesBehind(
  digests: Iterable<string>,
  call: ReadableCall,
  artifacts: ReadableStore,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const bytes = new Map<string, Uint8Array>();
  for (const digest of new Set(digests))
    bytes.set(digest, (await artifacts.open(digest, call.authority.principal)).bytes);
  return bytes;
}

/**
 * The arguments with the bytes of each artifact in place of its reference, parsed by the tool's schema. A property whose
 * schema names `$artifact` keeps the reference: that tool reads it itself. UTF-8 bytes become text; other bytes, or where
 * the schema says so, base64. A Standard Schema may also take the bytes.
 *
 * @throws RuntimeFault `artifact_unavailable`
 */
export async function filledInput(call: ReadableCall, artifacts: ReadableStore): Promise<Parsed> {
  const { found } = call;
  const wanted = wantedIn(call).filter(({ wants }) => wants !== "reference");
  const tooLarge = await largest(wanted, call, artifacts);
  if (tooLarge !== undefined) return { issues: [tooLarge] };
  const digests = wanted.map(({ digest }) => digest);
  const bytes = await bytesBehind(digests, call, artifacts);
  const fill = (valueFor: (own: Uint8Array, wants: WantedReference) => unknown): JsonObject =>
    filled(call.arguments, (reference) => {
      const wants = wantedAt(found.inputSchema, reference.path);
      const own = bytes.get(reference.digest);
      return wants === "reference" || own === undefined ? { [referenceKey]: reference.digest } : valueFor(own, wants);
    });
  if (found.takesBytes !== true)
    return jsonInput(
      call,
      fill((own, wants) => encoded(own, wants)),
    );
  const texts = await found.parse(fill((own, wants) => (wants === "base64" ? base64(own) : (textOf(own) ?? own))));
  if ("input" in texts) return texts;
  const raw = await found.parse(fill((own) => own));
  if ("input" in raw) return raw;
  const last = await found.parse(fill((own) => textOf(own) ?? base64(own)));
  return "input" in last ? last : texts;
}

/** A longer string is not given to a validator whose schema only limits its length. */
const longText = 1024 * 1024;

/** Parses the filled arguments. The other arguments were checked with the references in place. */
function jsonInput(call: ReadableCall, input: JsonObject): Parsed | Promise<Parsed> {
  const { inputSchema, parse } = call.found;
  const texts = referencesIn(call.arguments).map(({ path }) => ({ path, text: valueAt(input, path) }));
  const isLong = texts.some(({ text }) => typeof text === "string" && text.length > longText);
  const isPlain = texts.every(({ path, text }) => typeof text !== "string" || takesText(inputSchema, path, text));
  if (!isLong || !isPlain) return parse(input);
  return isSendable(call, texts)
    ? { input }
    : { issues: [{ path: [], message: "are too large for one message to the tool's server" }] };
}

/** Whether the arguments fit into one message to the tool's server, with quotes and line breaks escaped. */
function isSendable({ found }: ReadableCall, texts: readonly { readonly text: unknown }[]): boolean {
  const length = texts.reduce((sum, { text }) => sum + (typeof text === "string" ? text.length : 0), 0);
  if (found.facts.server === undefined || length <= sureBytes) return true;
  try {
    return JSON.stringify(texts).length > 0;
  } catch {
    return false; // no text is that long
  }
}

function valueAt(input: JsonObject, path: Reference["path"]): unknown {
  return path.reduce<unknown>((at, step) => Reflect.get(at as object, step), input); // filling keeps what is above a reference
}

/** Each artifact that the arguments name, with what the tool takes in its place. */
export function wantedIn(call: ReadableCall): readonly (Reference & { readonly wants: WantedReference })[] {
  return referencesIn(call.arguments).map((reference) => ({
    ...reference,
    wants: wantedAt(call.found.inputSchema, reference.path),
  }));
}

async function largest(
  wanted: readonly Reference[],
  call: ReadableCall,
  artifacts: ReadableStore,
): Promise<{ readonly path: Reference["path"]; readonly message: string } | undefined> {
  for (const { digest, path } of wanted) {
    const { bytes } = await artifacts.meta(digest, call.authority.principal);
    if (bytes <= mostTextBytes) continue;
    const message = `is an artifact of ${bytes} bytes; a tool gets at most ${mostTextBytes}. Use a tool that reads artifacts by reference`;
    return { path, message };
  }
  return undefined;
}

function encoded(bytes: Uint8Array, wants: WantedReference): string {
  return wants === "base64" ? base64(bytes) : (textOf(bytes) ?? base64(bytes));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
