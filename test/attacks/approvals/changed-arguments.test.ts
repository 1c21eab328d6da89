import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../packages/core/src/json.ts";
import { mail } from "../../fakes/deciders.ts";
import { asker, boss, runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { approved } from "./approved.ts";

describe("arguments that look alike", () => {
  const texts: readonly (readonly [string, string])[] = [
    ["the same, keys in another order", '{"n":1,"to":"é"}'],
    ["1e0 for 1", '{"to":"é","n":1e0}'],
    ["1.0 for 1", '{"to":"é","n":1.0}'],
    ["an escaped letter", '{"to":"\\u00e9","n":1}'],
    ["a key twice, the last as shown", '{"to":"evil","to":"é","n":1}'],
    ["a key twice, the last another", '{"to":"é","to":"evil","n":1}'],
    ["the letter in two parts", '{"to":"e\\u0301","n":1}'],
    ["a Cyrillic letter", '{"to":"е","n":1}'],
    ["a Cyrillic key beside", '{"tо":"evil","to":"é","n":1}'],
    ["a zero-width joiner", '{"to":"é\\u200d","n":1}'],
    ["__proto__ beside", '{"__proto__":{"to":"evil"},"to":"é","n":1}'],
    ["constructor beside", '{"constructor":{"prototype":{"to":"evil"}},"to":"é","n":1}'],
    ["a number as text", '{"to":"é","n":"1"}'],
    ["a little more than 1", '{"to":"é","n":1.0000000000000002}'],
    ["-0 beside", '{"to":"é","n":1,"m":-0}'],
    ["half a surrogate pair", '{"to":"é\\ud800","n":1}'],
    ["beyond 2^53", '{"to":"é","n":9007199254740993}'],
  ];

  it.each(texts)("%s: runs exactly as shown, or is another call", async (_what, text) => {
    const ran: JsonObject[] = [];
    await using h = await runtimeFixture({}, [
      {
        name: "pay",
        description: "Pays.",
        risk: "high",
        effects: "write",
        idempotent: false,
        input: {
          type: "object",
          properties: { to: { type: "string" }, n: { type: "number" } },
          required: ["to", "n"],
        },
        execute: (given: unknown) => {
          ran.push(given as JsonObject);
          return "paid";
        },
      },
    ]);
    const shown = { to: "é", n: 1 };
    const id = await approved(h, { tool: "pay", arguments: shown });
    const outcome = await h.runtime.invoke({ tool: "pay", arguments: JSON.parse(text) as JsonObject }, asker);
    if (outcome.status === "ok") {
      expect(ran).toEqual([shown]);
      expect(Object.keys(ran[0] ?? {}).sort()).toEqual(["n", "to"]);
    } else {
      expect(outcome.approvalId).not.toBe(id);
      expect(ran).toEqual([]);
    }
    const same =
      JSON.stringify(JSON.parse(text), ["n", "to"]) === '{"n":1,"to":"é"}' &&
      Object.keys(JSON.parse(text) as object).length === 2;
    expect(outcome.status === "ok").toBe(same);
    expect(({} as { to?: string }).to).toBeUndefined();
  });

  it("refuses other arguments under one key, and does not return the shown call's result", async () => {
    await using h = await runtimeFixture();
    const keyed = { ...asker, idempotencyKey: "k" };
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), keyed);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    expect((await h.runtime.invoke(mail("х"), keyed)).refusal?.code).toBe("idempotency_conflict");
    expect(h.ran).toEqual([]);
    expect((await h.runtime.invoke(mail("x"), keyed)).status).toBe("ok");
  });

  it("runs what was shown when the caller changes its object during the wait", async () => {
    await using h = await runtimeFixture();
    const given = { to: "x" };
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: given }, asker);
    given.to = "evil";
    const [open] = await h.runtime.approvals.list();
    expect(open?.arguments).toEqual({ to: "x" });
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.runtime.resume(approvalId);
    expect(h.ran).toEqual([{ to: "x" }]);
  });
});

describe("edited arguments", () => {
  const classed = {
    name: "pay",
    description: "Pays.",
    risk: "high",
    effects: "write",
    idempotent: false,
  } as const;

  it("are refused when the policy would block them, with the rule's reason", async () => {
    await using h = await runtimeFixture({ autonomy: "A2" }, [
      {
        ...classed,
        input: { type: "object", properties: { n: { type: "number" } } },
        classifyRisk: (given: unknown) => ((given as { n: number }).n > 100 ? "critical" : "high"),
        execute: () => "paid",
      },
    ]);
    const { approvalId = "" } = await h.runtime.invoke({ tool: "pay", arguments: { n: 1 } }, asker);
    const edited = await h.runtime.approvals.decide(approvalId, {
      decision: "modified",
      arguments: { n: 1000 },
      by: boss,
    });
    expect(edited).toMatchObject({
      decided: false,
      code: "edit_refused",
      refusal: { code: "blocked" },
    });
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });

  it("pass the gates again when run: a call that became critical is blocked", async () => {
    let limit = 100;
    const ran: unknown[] = [];
    await using h = await runtimeFixture({ autonomy: "A2" }, [
      {
        ...classed,
        input: { type: "object", properties: { n: { type: "number" } } },
        classifyRisk: (given: unknown) => ((given as { n: number }).n > limit ? "critical" : "high"),
        execute: (given: unknown) => {
          ran.push(given);
          return "paid";
        },
      },
    ]);
    const { approvalId = "" } = await h.runtime.invoke({ tool: "pay", arguments: { n: 1 } }, asker);
    expect(
      (
        await h.runtime.approvals.decide(approvalId, {
          decision: "modified",
          arguments: { n: 50 },
          by: boss,
        })
      ).decided,
    ).toBe(true);
    limit = 10;
    expect((await h.runtime.resume(approvalId))?.refusal?.code).toBe("blocked");
    limit = 100;
    expect((await h.runtime.resume(approvalId))?.status).toBe("ok");
    expect(ran).toEqual([{ n: 50 }]);
  });

  it("are refused when they are not JSON, too deep or of the wrong type; the request stays open", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    const cycle: Record<string, unknown> = { to: "x" };
    cycle["self"] = cycle;
    for (const ugly of [cycle, [], null, "text", { to: 1n }, { to: "\udfff" }, { to: 1 }]) {
      const decided = await h.runtime.approvals.decide(approvalId, {
        decision: "modified",
        arguments: ugly as never,
        by: boss,
      });
      expect(decided.decided).toBe(false);
    }
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });
});
