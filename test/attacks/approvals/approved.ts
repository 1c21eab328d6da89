import { expect } from "vitest";
import type { JsonObject } from "../../../src/core/json.ts";
import { asker, boss, type RuntimeFixture } from "../../fakes/runtime-fixture.ts";

export const mail = (to: string): { tool: string; arguments: { to: string } } => ({
  tool: "mail",
  arguments: { to },
});

/** The same call, held and approved. @returns its approval */
export async function approved(
  h: RuntimeFixture,
  request: { tool: string; arguments: JsonObject } = mail("x"),
): Promise<string> {
  const { approvalId = "" } = await h.runtime.invoke(request, asker);
  const decided = await h.runtime.approvals.decide(approvalId, {
    decision: "approved",
    by: boss,
    confirmation: request.tool, // what is critical asks for it
  });
  expect(decided.decided).toBe(true);
  return approvalId;
}
