import { expect, it } from "vitest";
import { asker, boss, runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";
import { renderOutcome } from "../results/render.ts";

it.each([
  ["wrong account", "Reason: wrong account. "],
  ["Wrong account!", "Reason: Wrong account! "],
])("ends a person's reason as a sentence: %s", async (reason, sentence) => {
  await using h = await runtimeFixture();
  const call = { tool: "mail", arguments: { to: "ann" } };
  const { approvalId = "" } = await h.runtime.invoke(call, asker);
  await h.runtime.approvals.decide(approvalId, { decision: "denied", by: boss, reason });
  const { text } = renderOutcome(await h.runtime.invoke(call, asker), { tool: "mail" });
  expect(text).toContain(sentence);
});
