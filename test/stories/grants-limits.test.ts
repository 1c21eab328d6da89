import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import type { Remember } from "../../packages/postern/src/approvals/index.ts";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import { actor } from "../fakes/actors.ts";
import { ann } from "../fakes/deciders.ts";
import { ask, forRun, remember, statusOf } from "../fakes/granting.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";
import { newStore, storeIn } from "../fakes/story-store.ts";

const files = sqliteFiles();

describe("a grant", () => {
  it("does not lift a block, nor the PREVIEW of the lowest level", async () => {
    await using h = await runtimeFixture({ autonomy: "A2" });
    await remember(h, await ask(h));
    await h.runtime.controls.setAutonomy("A0", actor("boss"));
    expect(await statusOf(h, "y")).toBe("preview");
    await using blocked = await runtimeFixture({
      policy: { rules: [{ effect: "deny", tool: "mail", arguments: { "$.to": { equals: "evil" } } }] },
    });
    await remember(blocked, await ask(blocked));
    expect([await statusOf(blocked, "evil"), await statusOf(blocked, "y")]).toEqual(["denied", "ok"]);
  });

  it("does not answer a CONFIRM of another rule", async () => {
    const rules = [
      { effect: "confirm" as const, tool: "mail", arguments: { "$.to": { like: "*boss*" } }, id: "bosses" },
    ];
    await using h = await runtimeFixture({ policy: { rules } });
    await remember(h, await ask(h));
    expect([await statusOf(h, "the boss"), await statusOf(h, "y")]).toEqual(["pending", "ok"]);
  });

  it("does not answer a call of higher risk than the one that was shown", async () => {
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      risk: "medium",
      effects: "write",
      idempotent: false,
      input: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      classifyRisk: (given) => (Number((given as { sum?: number }).sum) > 100 ? { risk: "high" } : { risk: "medium" }),
      execute: () => "paid",
    });
    await using runtime = await createRuntime({
      store: newStore("memory"),
      clock: new FakeClock(),
      tools: [pay],
      approvals: { patience: "suspend" },
    });
    const invoke = (sum: number) => runtime.invoke({ tool: "pay", arguments: { sum } }, asker);
    const { approvalId = "" } = await invoke(5);
    await runtime.approvals.decide(approvalId, { decision: "approved", by: ann, remember: forRun });
    expect([(await invoke(6)).status, (await invoke(500)).status]).toEqual(["ok", "pending"]);
  });

  it("does not answer a call whose route now forbids remembering", async () => {
    const kept = storeIn(files.at("routes.db"));
    const clock = new FakeClock();
    const before = await runtimeFixture({ ...kept, clock });
    await remember(before, await ask(before, "x", { runId: "r" }), {
      for: { until: clock.now() + 60_000 },
      reason: "ok",
    });
    expect(await statusOf(before, "y", { runId: "r" })).toBe("ok");
    await before.runtime.close();
    await using h = await runtimeFixture({
      ...kept,
      clock,
      approvals: { patience: "suspend", routes: [{ remember: false }] },
    });
    expect(await statusOf(h, "z", { runId: "r" })).toBe("pending");
  });

  it.each<[string, Partial<Remember>, RegExp]>([
    ["another tool's scope", { scope: { tool: "drop" } }, /names `drop`.*only that can be remembered/],
    [
      "a pattern that does not fit what is approved",
      { scope: { arguments: { "$.to": { equals: "y" } } } },
      /does not fit the call/,
    ],
    ["a pattern that is none", { scope: { arguments: { "$.to": { liek: "y" } as object } } }, /`liek`/],
    [
      "a value that is too long",
      { scope: { arguments: { "$.to": { not: { equals: "a".repeat(10_000) } } } } },
      /10002 characters of JSON, and 10000 are the most/,
    ],
    [
      "too many values",
      { scope: { arguments: { "$.to": { oneOf: ["x", ...Array.from({ length: 11 }, () => "a".repeat(9_900))] } } } },
      /`remember\.scope\.arguments` are 10\d{4} characters of JSON, and 100000 are the most/,
    ],
    ["no reason", { reason: " " }, /remember\.reason/],
    ["a time that is over", { for: { until: 1 } }, /still to come/],
    ["no end", { for: { until: 9e15 } }, /90 days/],
    ["an unknown span", { for: "ever" as "run" }, /`remember` is/],
    ["a field too many", { who: "me" } as Partial<Remember>, /`remember` is/],
  ])("is refused with %s, and then nothing is decided", async (_, more, message) => {
    await using h = await runtimeFixture();
    const id = await ask(h);
    const refused = await remember(h, id, { ...forRun, ...more });
    expect(refused).toMatchObject({
      decided: false,
      code: "remember_refused",
      message: expect.stringMatching(message),
    });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
    expect(h.runtime.approvals.grants.list()).toEqual([]);
  });

  it("is not made by a denial, for a critical call, or under a quorum", async () => {
    await using h = await runtimeFixture({
      approvals: { patience: "suspend", routes: [{ match: { tools: ["mail"] }, quorum: 2 }] },
    });
    expect(await remember(h, await ask(h))).toMatchObject({ code: "remember_refused" });
    const { approvalId = "" } = await h.runtime.invoke({ tool: "drop", arguments: { to: "x" } }, asker);
    expect(await remember(h, approvalId, forRun, { confirmation: "drop" })).toMatchObject({
      code: "remember_refused",
      message: expect.stringContaining("critical"),
    });
    const no = { decision: "denied" as const, by: ann, remember: forRun };
    expect(await h.runtime.approvals.decide(approvalId, no)).toMatchObject({ code: "remember_refused" });
  });
});
