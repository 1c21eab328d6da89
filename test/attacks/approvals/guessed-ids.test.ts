import { describe, expect, it } from "vitest";
import { asker, boss, runtimeFixture } from "../../fakes/runtime-fixture.ts";

const mail = (to: string): { tool: string; arguments: { to: string } } => ({
  tool: "mail",
  arguments: { to },
});

/** Guesses by an attacker who knows the form and one true id: neighbours, cut ids, other spellings, ids of other objects. */
function guesses(id: string, count: number): readonly string[] {
  const ugly = ["", "apr_", "constructor", "__proto__", "%", "*", `${id}\0`, `${id} `, ` ${id}`, id.toUpperCase()];
  const uglier = [
    id.slice(4),
    id.slice(0, -1),
    `${id}0`,
    `'${id}' or 1=1 --`,
    id.replace("apr_", "run_"),
    "../..",
    "null",
    "\ud800",
  ];
  const digits = "0123456789abcdef";
  const near = Array.from({ length: count - ugly.length - uglier.length }, (_, i) => {
    const at = 4 + ((i * 7) % (id.length - 4));
    const other = digits[(digits.indexOf(id[at] ?? "0") + 1 + (i % 15)) % 16];
    return id.slice(0, at) + other + id.slice(at + 1);
  });
  return [...ugly, ...uglier, ...near.filter((guess) => guess !== id)];
}

describe("a guessed approval id", () => {
  it("cannot be resumed, decided, withdrawn or seen: 1,000 guessed, cut and neighbouring ids", async () => {
    await using h = await runtimeFixture();
    const { approvalId: id = "" } = await h.runtime.invoke(mail("x"), asker);
    await h.runtime.approvals.decide(id, { decision: "approved", by: boss });
    let tried = 0;
    for (const guess of guesses(id, 1000)) {
      tried += 1;
      expect(await h.runtime.resume(guess)).toBeUndefined();
      expect(await h.runtime.approvals.get(guess)).toBeUndefined();
      expect(await h.runtime.approvals.decide(guess, { decision: "approved", by: boss })).toMatchObject({
        code: "approval_unknown",
      });
      expect(await h.runtime.approvals.withdraw(guess, boss)).toMatchObject({
        code: "approval_unknown",
      });
    }
    expect(tried).toBeGreaterThan(990);
    expect(h.ran).toEqual([]);
    expect((await h.runtime.approvals.get(id))?.state).toBe("approved");
  });

  it("has at least 72 random bits: 1,000 ids are all different", async () => {
    await using h = await runtimeFixture();
    const ids = new Set<string>();
    for (let i = 0; i < 1000; i += 1) ids.add((await h.runtime.invoke(mail(`${i}`), asker)).approvalId ?? "");
    expect(ids.size).toBe(1000);
    const tails = new Set([...ids].map((id) => id.slice(-12))); // the last 48 of the random bits
    expect(tails.size).toBe(1000);
    for (const id of ids)
      expect(id).toMatch(/^apr_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("does not exist for the people of another tenant: 1,000 ids", async () => {
    await using h = await runtimeFixture();
    const stranger = { user: "boss", via: "token:stranger", tenant: "other" };
    for (let i = 0; i < 1000; i += 1) {
      const { approvalId: id = "" } = await h.runtime.invoke(mail(`${i}`), asker);
      const decision = i % 2 === 0 ? "approved" : "denied";
      const none = await h.runtime.approvals.decide("apr_none", { decision, by: stranger });
      const decided = await h.runtime.approvals.decide(id, { decision, by: stranger });
      expect(JSON.stringify(decided)).toBe(JSON.stringify(none).replaceAll("apr_none", id)); // as if it were not there
      expect(decided.decided).toBe(false);
      expect(await h.runtime.approvals.withdraw(id, stranger)).toMatchObject({
        decided: false,
        code: "approval_unknown",
      });
    }
    expect(await h.runtime.approvals.list({ tenant: "other" })).toEqual([]);
    expect(await h.runtime.approvals.list({ state: "pending" })).toHaveLength(1000);
    expect(h.ran).toEqual([]);
  });

  it("of an expired request is not decided and runs nothing: 1,000 ids", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "suspend", ttlMs: 1000 } });
    const ids: string[] = [];
    for (let i = 0; i < 1000; i += 1) ids.push((await h.runtime.invoke(mail(`${i}`), asker)).approvalId ?? "");
    for (const id of ids.slice(0, 500)) await h.runtime.approvals.decide(id, { decision: "approved", by: boss });
    await h.clock.advance(1000);
    for (const id of ids) {
      expect(await h.runtime.approvals.decide(id, { decision: "approved", by: boss })).toMatchObject({
        code: "approval_expired",
      });
      expect((await h.runtime.resume(id))?.refusal?.code).toBe("approval_expired");
    }
    expect(h.ran).toEqual([]);
  });
});

describe("a decider", () => {
  it.each([
    ["the token that asked", asker.principal, { user: "somebody else", via: "token:agent" }],
    [
      "the user who asked, where no credential is known",
      { tenant: "default", agent: "a", user: "asker" },
      { user: "asker" },
    ],
    ["the agent that asked, by its own name", { tenant: "default", agent: "a" }, { user: "a", via: "agent:a" }],
  ])("is refused if it is %s, and the request stays open", async (_who, principal, by) => {
    await using h = await runtimeFixture();
    const { approvalId: id = "" } = await h.runtime.invoke(mail("x"), { principal });
    for (const decision of ["approved", "denied", "skipped"] as const)
      expect(await h.runtime.approvals.decide(id, { decision, by })).toMatchObject({
        decided: false,
        code: "decider_not_allowed",
      });
    expect(await h.runtime.approvals.decide(id, { decision: "modified", arguments: { to: "me" }, by })).toMatchObject({
      code: "decider_not_allowed",
    });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
    expect((await h.runtime.approvals.decide(id, { decision: "approved", by: boss })).decided).toBe(true);
  });

  it("is refused under separateUser if it is the asking user with another credential", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "suspend", separateUser: true } });
    const { approvalId: id = "" } = await h.runtime.invoke(mail("x"), asker);
    expect(
      await h.runtime.approvals.decide(id, {
        decision: "approved",
        by: { user: "asker", via: "token:operator" },
      }),
    ).toMatchObject({ code: "decider_not_allowed" });
    expect((await h.runtime.approvals.decide(id, { decision: "approved", by: boss })).decided).toBe(true);
  });

  it("is refused with a decision that is none of the four, and the request stays open", async () => {
    await using h = await runtimeFixture();
    const { approvalId: id = "" } = await h.runtime.invoke(mail("x"), asker);
    for (const decision of [
      "yes",
      "",
      "used",
      "pending",
      "expired",
      "withdrawn",
      "APPROVED",
      "constructor",
      "__proto__",
      null,
      undefined,
      {},
      ["approved"],
    ]) {
      const decided = await h.runtime.approvals.decide(id, {
        decision: decision as never,
        by: boss,
      });
      expect(decided).toMatchObject({ decided: false, code: "decision_invalid" });
    }
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
    expect(await h.runtime.invoke(mail("x"), asker)).toMatchObject({
      status: "pending",
      approvalId: id,
    });
  });

  it("that returns no decision as an approver in code denies; the log records it", async () => {
    for (const answer of [undefined, null, {}, { decision: "yes" }, { decision: "modified" }, "approved"]) {
      await using h = await runtimeFixture({
        approvals: { approver: { name: "broken", ask: async () => answer as never } },
      });
      const running = h.runtime.invoke(mail("x"), asker);
      await h.clock.advance(10);
      await h.clock.advance(300_000);
      expect(await running).toMatchObject({ status: "denied" });
      expect(h.ran).toEqual([]);
    }
  });
});
