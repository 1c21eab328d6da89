import { RuntimeFault } from "@postern/core";
import type { ArtifactStore } from "../results/artifact-store.ts";
import { filledInput, type ReadableCall } from "./gates/filled-input.ts";

/**
 * The input of the tool: the arguments as its schema parsed them, with the bytes of each artifact in place of its
 * reference: text where the schema wants a string and the bytes are UTF-8, else bytes. It is checked again here.
 * Each receiver has its own copy, so a preview cannot change what runs.
 *
 * @throws RuntimeFault `artifact_unavailable`, `arguments_invalid`
 */
export async function inputOf(
  call: ReadableCall & { readonly tool: string; readonly references: readonly string[] },
  artifacts: Pick<ArtifactStore, "meta" | "open">,
): Promise<unknown> {
  const { references } = call;
  const parsed = await filledInput(call, artifacts);
  if ("input" in parsed) return parsed.input;
  const what = references.length === 0 ? "The arguments" : "An artifact's bytes";
  const why = "unusable" in parsed ? parsed.unusable : (parsed.issues[0]?.message ?? "no reason given");
  throw new RuntimeFault("arguments_invalid", `${what} do not fit the schema of \`${call.tool}\`: ${why}`);
}
