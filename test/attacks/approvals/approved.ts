import { expect } from "vitest";
import type { JsonObject } from "../../../packages/core/src/json.ts";
import { mail } from "../../fakes/deciders.ts";
import { asker, boss, type RuntimeFixture } from "../../fakes/runtime-fixture.ts";

/** Makes the call, approves it and returns the approval's id. */
export async function approved(
  h: RuntimeFixture,
  request: { readonly tool: string; readonly arguments: JsonObject } = mail(),
): Promise<string> {
  const { approvalId = "" } = await h.runtime.invoke(request, asker);
  const decided = await h.runtime.approvals.decide(approvalId, {
    decision: "approved",
    by: boss,
    confirmation: request.tool, // a critical call needs it
  });
  expect(decided.decided).toBe(true);
  return approvalId;
}
