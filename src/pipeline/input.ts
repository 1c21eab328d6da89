import { RuntimeFault } from "../core/fault.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";
import { filledInput } from "./gates/filled-input.ts";
import type { ValidCall } from "./gates/stages.ts";

/**
 * What the tool is given: what its schema makes of the arguments, with the bytes of every artifact in the place of its
 * reference (D13): as text where the schema wants a string and the bytes are UTF-8, else as bytes. Checked again here.
 * Each receiver has its own: a preview that changes it changes nothing that runs.
 *
 * @throws RuntimeFault `artifact_unavailable`, `arguments_invalid`
 */
export async function inputOf(call: ValidCall, artifacts: ArtifactStore): Promise<unknown> {
  const { references } = call;
  const parsed = await filledInput(call, artifacts);
  if ("input" in parsed) return parsed.input;
  const what = references.length === 0 ? "The arguments" : "An artifact's bytes";
  const why = "unusable" in parsed ? parsed.unusable : (parsed.issues[0]?.message ?? "no reason given");
  throw new RuntimeFault("arguments_invalid", `${what} do not fit the schema of \`${call.tool}\`: ${why}`);
}
