import type { JsonObject } from "@postern/core";
import { describe, expect, it } from "vitest";
import { factsOf, tool } from "../../../../../test/fakes/policy-facts.ts";
import { createPolicy } from "../decide.ts";
import type { Decision, Facts, PastCall } from "../policy.ts";
import type { HistoryLimit, Rule } from "./rule-schema.ts";

const mail = tool("mail", { action: "send" });
const now = 10_000_000;

function past(more: Partial<PastCall> = {}): PastCall {
  return {
    tool: "mail",
    action: "send",
    effects: "write",
    risk: "safe",
    at: now - 1000,
    state: "ok",
    arguments: {},
    ...more,
  };
}

function facts(calls: readonly PastCall[], args: JsonObject = {}, more: Partial<Facts> = {}): Facts {
  const history = { run: { version: calls.length, tainted: false, calls } };
  return factsOf(mail, { arguments: args, history, now, ...more });
}

function verdict(
  limit: HistoryLimit | readonly HistoryLimit[],
  asked: Facts,
  rule: Partial<Rule> = {},
): Decision["verdict"] {
  const policy = createPolicy({ rules: [{ effect: "deny", tool: "mail", ...rule, history: limit }] });
  return policy.decide(asked).verdict;
}

describe("a limit on the past", () => {
  it("counts this call with those before it: three mails an hour, and not a fourth", () => {
    const limit = { within: "run", windowSeconds: 3600, atMost: 3 } as const;
    expect(verdict(limit, facts([past(), past()]))).toBe("ALLOW");
    expect(verdict(limit, facts([past(), past(), past()]))).toBe("DENY");
    const hourOld = past({ at: now - 3_600_000 });
    expect(verdict(limit, facts([hourOld, past(), past()]))).toBe("ALLOW");
    expect(verdict(limit, facts([past({ at: now - 3_599_999 }), past(), past()]))).toBe("DENY");
  });

  it("sees the calls of a clock that was set back", () => {
    const limit = { within: "run", windowSeconds: 10, atMost: 1 } as const;
    expect(verdict(limit, facts([past({ at: now + 5_000 }), past({ at: now - 60_000 })]))).toBe("DENY");
  });

  it("counts what the rule speaks of, unless it names other calls", () => {
    const others = [past({ tool: "page" }), past({ action: "draft" }), past({ server: "post" })];
    expect(verdict({ within: "run", atMost: 1 }, facts(others), { action: "send" })).toBe("DENY"); // the third is a mail too
    expect(verdict({ within: "run", atMost: 1 }, facts(others.slice(0, 2)), { action: "send" })).toBe("ALLOW");
    expect(verdict({ within: "run", tool: "p*", atMost: 1 }, facts(others))).toBe("ALLOW");
    expect(verdict({ within: "run", tool: "p*", atMost: 0 }, facts(others))).toBe("DENY");
    expect(verdict({ within: "run", action: "draft", atMost: 1 }, facts(others))).toBe("ALLOW");
  });

  it("counts failed calls too, unless it says which states count", () => {
    const calls = [past({ state: "failed" }), past({ state: "unknown" }), past({ state: "attempted" })];
    expect(verdict({ within: "run", atMost: 3 }, facts(calls))).toBe("DENY");
    expect(verdict({ within: "run", atMost: 3, state: ["ok", "unknown", "attempted"] }, facts(calls))).toBe("ALLOW");
    expect(verdict({ within: "run", atMost: 1, state: "failed" }, facts(calls))).toBe("DENY");
  });

  it("counts by what is the same in both calls", () => {
    const calls = [past({ arguments: { to: "ada" } }), past({ arguments: { to: "bob" } }), past()];
    const limit = { within: "run", atMost: 1, same: "$.to" } as const;
    expect(verdict(limit, facts(calls, { to: "ada" }))).toBe("DENY");
    expect(verdict(limit, facts(calls, { to: "eve" }))).toBe("ALLOW");
    expect(verdict(limit, facts(calls))).toBe("ALLOW");
  });

  it("sums: 500 a run, cents and all, and nothing is won by negative amounts", () => {
    const limit = { within: "run", sum: { path: "$.amount", atMost: 500 } } as const;
    const paid = [past({ arguments: { amount: 200 } }), past({ arguments: { amount: 200.1 } })];
    expect(verdict(limit, facts(paid, { amount: 99.9 }))).toBe("ALLOW");
    expect(verdict(limit, facts(paid, { amount: 99.91 }))).toBe("DENY");
    expect(verdict(limit, facts([...paid, past({ arguments: { amount: -400 } })], { amount: 99.91 }))).toBe("DENY");
    const tenth = past({ arguments: { amount: 0.1 } });
    expect(
      verdict({ within: "run", sum: { path: "$.amount", atMost: 0.3 } }, facts([tenth, tenth], { amount: 0.1 })),
    ).toBe("ALLOW");
  });

  it("sums lists, and counts as broken where there is no number", () => {
    const limit = { within: "run", sum: { path: "$.items[*].amount", atMost: 10 } } as const;
    expect(verdict(limit, facts([], { items: [{ amount: 4 }, { amount: 6 }] }))).toBe("ALLOW");
    expect(verdict(limit, facts([], { items: [{ amount: 4 }, { amount: 7 }] }))).toBe("DENY");
    expect(verdict(limit, facts([], { items: [] }))).toBe("ALLOW");
    expect(verdict(limit, facts([], { items: [{ amount: "4" }] }))).toBe("DENY");
    expect(verdict(limit, facts([], {}))).toBe("DENY");
    expect(verdict(limit, facts([past({ arguments: { items: "[redacted]" } })], { items: [] }))).toBe("DENY");
  });

  it("requires: read before write, the very same path, and read it must have been", () => {
    const limit = { within: "run", requires: { tool: "read", same: { "$.path": "$.file" } } } as const;
    const read = (file: string, state: PastCall["state"] = "ok"): PastCall =>
      past({ tool: "read", state, arguments: { file } });
    expect(verdict(limit, facts([read("a")], { path: "a" }))).toBe("ALLOW");
    expect(verdict(limit, facts([read("b")], { path: "a" }))).toBe("DENY");
    expect(verdict(limit, facts([read("a", "failed"), read("a", "attempted")], { path: "a" }))).toBe("DENY");
    expect(verdict(limit, facts([read("a")], {}))).toBe("DENY");
    expect(verdict(limit, facts([past({ tool: "read" })], {}))).toBe("DENY");
    expect(verdict({ ...limit, windowSeconds: 1 }, facts([read("a")], { path: "a" }))).toBe("DENY");
  });

  it("compares paths by where they lead, and trusts none that does not say it", () => {
    const wrote = (path: string): PastCall => past({ tool: "write", arguments: { path } });
    const requires = { within: "run", requires: { tool: "write", samePath: "$.path" } } as const;
    const once = { within: "run", tool: "write", atMost: 0, samePath: "$.path" } as const;
    const forbids = { within: "run", forbids: { tool: "write", samePath: "$.path" } } as const;
    const rows = [
      { before: "./a//b", here: "a/b", verdicts: ["ALLOW", "DENY", "DENY"] },
      { before: "a/b", here: "a/c", verdicts: ["DENY", "ALLOW", "ALLOW"] },
      { before: "/a/b", here: "a/b", verdicts: ["DENY", "ALLOW", "ALLOW"] },
      { before: "x/../a/b", here: "a/b", verdicts: ["DENY", "DENY", "DENY"] },
      { before: "a/b", here: "x/../a/b", verdicts: ["DENY", "DENY", "DENY"] },
    ];
    for (const { before, here, verdicts } of rows) {
      const given = facts([wrote(before)], { path: here });
      expect(
        [requires, once, forbids].map((limit) => verdict(limit, given)),
        `${before}, then ${here}`,
      ).toEqual(verdicts);
    }
  });

  it("forbids: no mail after a secret was read, whatever came of the reading", () => {
    const limit = { within: "run", forbids: { tool: "vault__*" } } as const;
    expect(verdict(limit, facts([]))).toBe("ALLOW");
    expect(verdict(limit, facts([past({ tool: "vault__read", state: "failed" })]))).toBe("DENY");
    expect(verdict({ within: "run", forbids: { tool: "vault__*", same: "$.id" } }, facts([]))).toBe("DENY"); // nothing to compare
  });

  it("permits in an allow while it holds, and asks in a confirm when it is exceeded", () => {
    const limit = { within: "run", atMost: 1 } as const;
    const decide = (
      effect: Rule["effect"],
      calls: readonly PastCall[],
      history: Facts["history"] = facts(calls).history,
    ): string =>
      createPolicy({
        default: effect === "allow" ? "deny" : "allow",
        rules: [{ effect, tool: "mail", history: limit }],
      }).decide({
        ...facts(calls),
        history,
      }).verdict;
    expect([decide("allow", []), decide("allow", [past()])]).toEqual(["ALLOW", "DENY"]);
    expect([decide("confirm", []), decide("confirm", [past()])]).toEqual(["ALLOW", "CONFIRM"]);
    expect([decide("allow", [], {}), decide("confirm", [], {}), decide("deny", [], {})]).toEqual([
      "DENY",
      "CONFIRM",
      "DENY",
    ]);
  });

  it("one of several that is broken is enough", () => {
    const limits = [
      { within: "run", atMost: 2 },
      { within: "run", sum: { path: "$.amount", atMost: 10 } },
    ] as const;
    expect(verdict(limits, facts([past({ arguments: { amount: 5 } })], { amount: 5 }))).toBe("ALLOW");
    expect(verdict(limits, facts([past({ arguments: { amount: 5 } })], { amount: 6 }))).toBe("DENY");
    expect(
      verdict(limits, facts([past({ arguments: { amount: 1 } }), past({ arguments: { amount: 1 } })], { amount: 1 })),
    ).toBe("DENY");
    const allow = createPolicy({ default: "deny", rules: [{ effect: "allow", tool: "mail", history: limits }] });
    expect(allow.decide(facts([], { amount: 11 })).verdict).toBe("DENY");
  });

  it("names the limit in the reason", () => {
    const rules: Rule[] = [
      { effect: "deny", tool: "mail", id: "calm", history: { within: "principal", windowSeconds: 3600, atMost: 3 } },
      {
        effect: "confirm",
        tool: "mail",
        reason: "dear",
        history: { within: "run", sum: { path: "$.amount", atMost: 5 } },
      },
      { effect: "deny", tool: "mail", history: { within: "run", requires: { tool: "read", same: "$.path" } } },
    ];
    const texts = rules.map(
      (rule) =>
        createPolicy({ rules: [rule] })
          .decide(facts([], { amount: 6 }))
          .reasons.at(-1)?.rule,
    );
    expect(texts).toEqual([
      "rule deny #1 (calm): at most 3 calls of `mail` in 3600 s by the principal",
      "rule confirm #1: dear; a sum of $.amount of at most 5 over calls of `mail` in the run",
      "rule deny #1: a call of `read` with the same $.path before in the run",
    ]);
  });

  it("reports how much of the past it reads, and for which tool", () => {
    const policy = createPolicy({
      rules: [
        { effect: "deny", tool: "mail", history: { within: "run", windowSeconds: 60, atMost: 3 } },
        {
          effect: "deny",
          tool: "m*",
          history: [
            { within: "run", atMost: 3 },
            { within: "tenant", windowSeconds: 5, atMost: 9 },
          ],
        },
        { effect: "deny", tool: "page", history: { within: "principal", windowSeconds: 7, atMost: 1 } },
      ],
    });
    expect(policy.reads).toEqual({ run: Number.POSITIVE_INFINITY, tenant: 5000, principal: 7000 });
    expect(policy.readsFor?.(mail)).toEqual({ run: Number.POSITIVE_INFINITY, tenant: 5000 });
    expect(policy.readsFor?.({ ...mail, tool: "echo" })).toBeUndefined();
    expect(createPolicy({ rules: [{ effect: "deny", tool: "mail" }] }).reads).toBeUndefined();
  });

  it.each<[unknown, string]>([
    [{ atMost: 1 }, ".within`: It is missing"],
    [{ within: "session", atMost: 1 }, '`"session"`'],
    [{ within: "run" }, "asks for nothing"],
    [{ within: "run", tool: "mail", requires: { tool: "read" } }, "counts none"],
    [{ within: "run", atMost: -1 }, "`-1`"],
    [{ within: "run", atMost: 1.5 }, "whole number"],
    [{ within: "run", atMost: "3" }, '`"3"`'],
    [{ within: "run", windowSeconds: 0, atMost: 1 }, ".windowSeconds`: `0` is too small"],
    [{ within: "run", window: 5, atMost: 1 }, "`window` is not a known key"],
    [{ within: "run", sum: { path: "amount", atMost: 1 } }, '`"amount"`'],
    [{ within: "run", sum: { path: "$.amount" } }, ".atMost`: It is missing"],
    [{ within: "run", sum: { path: "$.amount", atMost: 1, of: "x" } }, "`of` is not a known key"],
    [{ within: "run", requires: {} }, "names no call"],
    [{ within: "run", requires: { tool: "" } }, "It is empty"],
    [{ within: "run", requires: { tool: "a", state: "done" } }, ".state`"],
    [{ within: "run", requires: { tool: "a", state: [] } }, ".state`"],
    [{ within: "run", requires: { tool: "a", same: "$.a[*]" } }, "`[*]`"],
    [{ within: "run", requires: { tool: "a", same: { "$.a": "b" } } }, '`"b"`'],
    ["run", "`rules[0].history`"],
  ])("refuses %j and names what is wrong", (history, named) => {
    const made = (): unknown => createPolicy({ rules: [{ effect: "deny", history: history as HistoryLimit }] });
    expect(made).toThrow(expect.objectContaining({ code: "policy_invalid", message: expect.stringContaining(named) }));
  });
});
