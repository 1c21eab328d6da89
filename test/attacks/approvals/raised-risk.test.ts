import { expect, it } from "vitest";
import type { Risk } from "../../../packages/postern/src/index.ts";
import { ann, approve } from "../../fakes/deciders.ts";
import { asker, runtimeFixture } from "../../fakes/runtime-fixture.ts";

it.each<[Risk, Risk, boolean]>([
  ["high", "critical", false],
  ["high", "high", true],
  ["critical", "high", true],
])("an approval shown at risk %s and used at risk %s counts: %s", async (shown, now, counts) => {
  let risk: Risk = shown;
  let ran = 0;
  const tool = {
    name: "move",
    description: "Moves it.",
    risk: "medium",
    effects: "write",
    idempotent: false,
    input: { type: "object", properties: {} },
    classifyRisk: () => ({ risk }),
    execute: () => {
      ran += 1;
      return "moved";
    },
  } as const;
  await using h = await runtimeFixture({}, [tool]);
  const { approvalId: id = "" } = await h.runtime.invoke({ tool: "move", arguments: {} }, asker);
  expect(await approve(h, id, ann, { confirmation: "move" })).toMatchObject({ decided: true });
  risk = now;
  const outcome = await h.runtime.resume(id);
  expect([outcome?.status === "ok", ran]).toEqual([counts, counts ? 1 : 0]);
  if (counts) return;
  expect((await h.runtime.approvals.get(id))?.state).toBe("withdrawn");
  const again = await h.runtime.invoke({ tool: "move", arguments: {} }, asker);
  expect((await h.runtime.approvals.get(again.approvalId ?? ""))?.risk).toBe("critical");
});
