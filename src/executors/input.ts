import { RuntimeFault } from "../calls/fault.ts";
import { bytesBehind, filled, textOf } from "../gates/references.ts";
import type { ValidCall } from "../gates/stages.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";

/**
 * What the tool is given: what its schema makes of the arguments, with the bytes of every artifact in the place of its
 * reference (D13): as text where the schema wants a string and the bytes are UTF-8, else as bytes. Checked again here.
 * Each receiver has its own: a preview that changes it changes nothing that runs.
 *
 * @throws RuntimeFault `artifact_unavailable`, `arguments_invalid`
 */
export async function inputOf(call: ValidCall, artifacts: ArtifactStore): Promise<unknown> {
  const { found, references } = call;
  const bytes = await bytesBehind(references, call, artifacts);
  const texts = await found.parse(filled(call.arguments, (digest) => textOr(bytes.get(digest))));
  if ("input" in texts) return texts.input;
  const raw = await found.parse(filled(call.arguments, (digest) => bytes.get(digest)));
  if ("input" in raw) return raw.input;
  const what = references.length === 0 ? "The arguments" : "An artifact's bytes";
  const why = "unusable" in texts ? texts.unusable : (texts.issues[0]?.message ?? "no reason given");
  throw new RuntimeFault("arguments_invalid", `${what} do not fit the schema of \`${call.tool}\`: ${why}`);
}

/** UTF-8 text, or the bytes themselves when they are none. */
function textOr(bytes: Uint8Array | undefined): string | Uint8Array | undefined {
  return bytes && (textOf(bytes) ?? bytes);
}
