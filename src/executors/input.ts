import { RuntimeFault } from "../calls/fault.ts";
import { isJsonObject, type Json } from "../calls/json.ts";
import type { ValidCall } from "../gates/stages.ts";
import { type ArtifactStore, referenceKey } from "../results/artifact-store.ts";

/**
 * What the tool is given: what its schema made of the arguments, with the bytes of every artifact in the place of its
 * reference (D13): as text where the schema wants a string and the bytes are UTF-8, else as bytes. Checked again here.
 *
 * @throws RuntimeFault `artifact_unavailable`, `arguments_invalid`
 */
export async function inputOf(call: ValidCall, artifacts: ArtifactStore): Promise<unknown> {
  if (call.references.length === 0) return call.input;
  const bytes = new Map<string, Uint8Array>();
  for (const digest of call.references)
    bytes.set(digest, (await artifacts.open(digest, call.authority.principal)).bytes);
  const texts = await call.found.parse(
    filled(call.arguments, (digest) => textOr(bytes.get(digest))) as typeof call.arguments,
  ); // an object stays one
  if ("input" in texts) return texts.input;
  const raw = await call.found.parse(filled(call.arguments, (digest) => bytes.get(digest)) as typeof call.arguments); // an object stays one
  if ("input" in raw) return raw.input;
  throw new RuntimeFault(
    "arguments_invalid",
    `An artifact's bytes do not fit the schema of \`${call.tool}\`: ${texts.issues[0]?.message ?? "no reason given"}`,
  );
}

/** UTF-8 text, or the bytes themselves when they are none. */
function textOr(bytes: Uint8Array | undefined): string | Uint8Array | undefined {
  try {
    return bytes && new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return bytes; // not text
  }
}

function filled(value: Json, fill: (digest: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((inner: Json) => filled(inner, fill));
  if (!isJsonObject(value)) return value;
  const digest = value[referenceKey];
  if (typeof digest === "string") return fill(digest);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, filled(inner, fill)]));
}
