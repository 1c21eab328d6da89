import { RuntimeFault } from "../calls/fault.ts";
import { bytesBehind, filled, textOf } from "../gates/references.ts";
import type { ValidCall } from "../gates/stages.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";

/**
 * What the tool is given: what its schema made of the arguments, with the bytes of every artifact in the place of its
 * reference (D13): as text where the schema wants a string and the bytes are UTF-8, else as bytes. Checked again here.
 *
 * @throws RuntimeFault `artifact_unavailable`, `arguments_invalid`
 */
export async function inputOf(call: ValidCall, artifacts: ArtifactStore): Promise<unknown> {
  if (call.references.length === 0) return call.input;
  const bytes = await bytesBehind(call.references, call, artifacts);
  const texts = await call.found.parse(filled(call.arguments, (digest) => textOr(bytes.get(digest))));
  if ("input" in texts) return texts.input;
  const raw = await call.found.parse(filled(call.arguments, (digest) => bytes.get(digest)));
  if ("input" in raw) return raw.input;
  throw new RuntimeFault(
    "arguments_invalid",
    `An artifact's bytes do not fit the schema of \`${call.tool}\`: ${"issues" in texts ? (texts.issues[0]?.message ?? "no reason given") : texts.unusable}`,
  );
}

/** UTF-8 text, or the bytes themselves when they are none. */
function textOr(bytes: Uint8Array | undefined): string | Uint8Array | undefined {
  return bytes && (textOf(bytes) ?? bytes);
}
