/**
 * Bytes between a script and the store. What is large goes in pieces: each is kept as it comes, and the last call names
 * them, so that a script that waits in between, or is replayed, finds them where they are.
 */
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { AskedCall, SettledCall } from "../engines/sandbox.ts";
import { type ArtifactMeta, referenceKey } from "../results/artifact-store.ts";
import { findsIn } from "../results/streams.ts";
import { answered, refused, tooMuchAtOnce } from "./answers.ts";
import { mostPutBytes } from "./budget.ts";
import { textIn } from "./members.ts";
import type { ScriptRun } from "./script-run.ts";

/** Bigger artifacts stay references: pass them on. */
const mostMaterializedBytes = 4 * 1024 * 1024;

/** The bytes themselves, inside: text where they are UTF-8, else base64. */
export async function materialized(asked: AskedCall, run: ScriptRun): Promise<SettledCall> {
  const { arguments: given, place } = asked;
  const digest = textIn(given, "ref", referenceKey, "artifact") ?? referenceIn(given["value"]);
  if (digest === undefined) {
    const text = textIn(given, "text");
    if (text === undefined) return refused(place, "arguments_invalid", "`materialize` needs a result or a reference.");
    const bytes = Buffer.byteLength(text);
    if (!run.budget.bring(bytes)) return tooMuchAtOnce(place);
    return answered(asked, { path: pathOf(place, "txt"), media_type: "text/plain", bytes, text });
  }
  const { artifacts } = run.parts;
  const { principal } = run.facts.parent.authority;
  const meta = await artifacts.meta(digest, principal); // what is too large is not read
  if (meta.bytes > mostMaterializedBytes)
    return refused(
      place,
      "arguments_invalid",
      `The artifact has ${meta.bytes} bytes and a script gets ${mostMaterializedBytes} at most; pass its reference to a tool instead.`,
    );
  if (!run.budget.bring(meta.bytes)) return tooMuchAtOnce(place);
  const { bytes } = await artifacts.open(digest, principal);
  const text = utf8(bytes);
  const body = text === undefined ? { base64: Buffer.from(bytes).toString("base64") } : { text };
  const path = pathOf(place, text === undefined ? "bin" : "txt");
  return answered(asked, { path, media_type: meta.mediaType, bytes: bytes.byteLength, ref: digest, ...body });
}

export async function put(asked: AskedCall, run: ScriptRun): Promise<SettledCall> {
  const { arguments: given, place } = asked;
  const mediaType = textIn(given, "media_type", "mediaType", "type", "content_type") ?? "text/plain";
  if (!/^[\w.+-]+\/[\w.+-]+(;.*)?$/.test(mediaType) || mediaType.length > 100)
    return refused(
      place,
      "arguments_invalid",
      `\`${mediaType.slice(0, 100)}\` is no media type; write \`image/png\`, for example.`,
    );
  const { pieces } = given;
  const bytes = pieces === undefined ? counted(bytesIn(given), run) : await joined(pieces, run);
  if (bytes === undefined)
    return refused(place, "arguments_invalid", "`artifacts.put` needs text or bytes, and a media type.");
  if (bytes === "too many")
    return refused(
      place,
      "budget_exhausted",
      `A script puts ${mostPutBytes} bytes away in all, and joins no more than it has put; this is more. Use what is there.`,
    );
  const { redactor } = run.parts;
  if ((await findsIn(bytes.toString(), redactor)) || (await findsIn(bytes.toString("latin1"), redactor)))
    return refused(place, "secret_in_arguments", "The bytes hold a secret; nothing was kept.");
  const digest = await kept(bytes, mediaType, run);
  if (given["piece"] !== true) run.journal.file({ artifact: digest, mediaType, put: true });
  return answered(asked, { ref: digest, media_type: mediaType, bytes: bytes.byteLength, text: "" });
}

async function kept(bytes: Uint8Array, mediaType: string, { parts, facts, session }: ScriptRun): Promise<string> {
  const { artifacts } = parts;
  const { digest } = await artifacts.put(bytes, mediaType, facts.parent.authority.principal);
  if (session.pins.includes(digest)) await artifacts.unpin(digest);
  else session.pin(digest);
  return digest;
}

function counted(bytes: Buffer | undefined, { budget }: ScriptRun): Buffer | "too many" | undefined {
  return bytes === undefined || budget.put(bytes.byteLength) ? bytes : "too many";
}

/** What the script has put before. Its budget is asked before any of it is read. */
async function joined(
  pieces: Json,
  { parts, facts, session, budget }: ScriptRun,
): Promise<Buffer | "too many" | undefined> {
  if (!Array.isArray(pieces)) return undefined;
  const { artifacts } = parts;
  const { principal } = facts.parent.authority;
  const held = new Set(session.pins);
  const parted: ArtifactMeta[] = [];
  let length = 0;
  for (const digest of pieces) {
    if (typeof digest !== "string" || !held.has(digest)) return undefined;
    const meta = await artifacts.meta(digest, principal);
    parted.push(meta);
    length += meta.bytes;
    if (length > mostPutBytes) return "too many";
  }
  if (!budget.join(length)) return "too many";
  const whole = Buffer.allocUnsafe(length);
  let at = 0;
  for (const { digest } of parted) {
    const { bytes } = await artifacts.open(digest, principal);
    whole.set(bytes, at);
    at += bytes.byteLength;
  }
  return whole;
}

function bytesIn(given: JsonObject): Buffer | undefined {
  const base64 = textIn(given, "base64", "data");
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  const text = textIn(given, "text", "content");
  if (text !== undefined) return Buffer.from(text);
  const { value } = given;
  return value === undefined ? undefined : Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
}

function referenceIn(value: Json | undefined): string | undefined {
  return isJsonObject(value) ? textIn(value, referenceKey, "ref") : undefined;
}

function pathOf(place: number, extension: string): string {
  return `/workspace/result_${place}.${extension}`;
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined; // bytes then
  }
}
