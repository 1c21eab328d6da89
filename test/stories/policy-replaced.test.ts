import { describe, expect, it } from "vitest";
import type { Guardrail, PolicyOptions } from "../../packages/postern/src/policy/index.ts";
import { asker, boss, runtimeFixture } from "../fakes/runtime-fixture.ts";

const ada = { by: "ada", via: "test" } as const;
const denied: PolicyOptions = { rules: [{ effect: "deny", tool: "*", id: "all-off" }] };
const asked: PolicyOptions = { rules: [{ effect: "confirm", tool: "mail" }] };
const echo = { tool: "echo", arguments: { to: "me" } };
const mail = (to: string) => ({ tool: "mail", arguments: { to } });

/** A guardrail that answers when the test says so. */
function held() {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let first = true;
  const guardrail: Guardrail = {
    name: "held",
    on: "arguments",
    timeoutMs: 60_000,
    check: async () => {
      if (!first) return [];
      first = false;
      reached.resolve();
      await released.promise;
      return [];
    },
  };
  return { guardrail, reached: reached.promise, release: () => released.resolve() };
}

describe("a policy that is replaced while calls are on their way", () => {
  it("decides the next call, and says in the log what has changed", async () => {
    await using h = await runtimeFixture({ policy: { default: "allow" } });
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    const { before, after, changes } = await h.runtime.policy.replace({ policy: { ...denied, default: "deny" } }, ada, {
      reason: "incident",
      source: "postern.yaml",
    });
    expect(changes).toEqual(["`policy.default` was `allow` and is `deny` now.", "The rule `all-off` is added."]);
    expect(h.runtime.policy.version).toBe(after);
    expect((await h.runtime.invoke(echo, asker)).refusal?.code).toBe("permission_denied");
    const [event] = await h.runtime.audit.query({ type: "operator.action.policy_replaced" });
    expect(event).toMatchObject({
      decided_by: "ada",
      data: { before, after, changes, reason: "incident", file: "postern.yaml" },
    });
  });

  it("judges a call that waited again: its approval does not overrule the new policy", async () => {
    await using h = await runtimeFixture({ policy: asked });
    const { approvalId = "" } = await h.runtime.invoke(mail("a"), asker);
    await h.runtime.policy.replace({ policy: denied }, ada);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    expect((await h.runtime.invoke(mail("a"), asker)).refusal?.code).toBe("permission_denied");
    expect(h.ran).toEqual([]);
  });

  it("lets a call go that waited and needs no approval any more", async () => {
    await using h = await runtimeFixture({ policy: asked, autonomy: "A4" });
    expect((await h.runtime.invoke(mail("a"), asker)).status).toBe("pending");
    await h.runtime.policy.replace({ policy: {} }, ada);
    expect((await h.runtime.invoke(mail("a"), asker)).status).toBe("ok");
  });

  it("judges a call again that was on its way through the gates", async () => {
    const { guardrail, reached, release } = held();
    await using h = await runtimeFixture({ guardrails: [guardrail] });
    const calling = h.runtime.invoke(echo, asker);
    await reached;
    await h.runtime.policy.replace({ policy: denied }, ada);
    release();
    expect((await calling).refusal?.code).toBe("permission_denied");
    expect(h.ran).toEqual([]);
  });

  it("lets a call that runs go on", async () => {
    await using h = await runtimeFixture({});
    const stop = new AbortController();
    const calling = h.runtime.invoke(
      { tool: "echo", arguments: { to: "me", slow: true } },
      { ...asker, signal: stop.signal },
    );
    await expect.poll(async () => (await h.runtime.calls.list({ limit: 1 }))[0]?.state).toBe("attempted");
    await h.runtime.policy.replace({ policy: denied }, ada);
    expect((await h.runtime.calls.list({ limit: 1 }))[0]?.state).toBe("attempted");
    stop.abort();
    await calling.catch(() => undefined);
  });

  it("changes nothing if the new one has a mistake", async () => {
    await using h = await runtimeFixture({});
    const { version } = h.runtime.policy;
    const wrong = { rules: [{ effect: "deny", tool: "mail", arguments: { "no path": { equals: 1 } } }] } as never;
    await expect(h.runtime.policy.replace({ policy: wrong }, ada)).rejects.toMatchObject({ code: "policy_invalid" });
    await expect(h.runtime.policy.replace({ guardrails: [{ name: "x" }] as never }, ada)).rejects.toMatchObject({
      code: "options_invalid",
    });
    expect(h.runtime.policy.version).toBe(version);
    expect(await h.runtime.audit.query({ type: "operator.action.policy_replaced" })).toEqual([]);
  });

  it("says nothing in the log if nothing differs", async () => {
    await using h = await runtimeFixture({ policy: denied });
    const same = { rules: [{ effect: "deny", tool: "*", id: "all-off", where: "postern.yaml:9" }] } as const;
    expect((await h.runtime.policy.replace({ policy: same }, ada)).changes).toEqual([]);
    expect(await h.runtime.audit.query({ type: "operator.action.policy_replaced" })).toEqual([]);
  });

  it("compares each of two at once with what the other left", async () => {
    await using h = await runtimeFixture({});
    const [one, two] = await Promise.all([
      h.runtime.policy.replace({ policy: denied }, ada),
      h.runtime.policy.replace({ policy: asked }, ada),
    ]);
    expect(two.before).toBe(one.after);
    expect(two.changes).toHaveLength(2);
    expect(h.runtime.policy.version).toBe(two.after);
  });

  it("tells who follows the tools, and offers others", async () => {
    await using h = await runtimeFixture({});
    const seen: (readonly string[])[] = [];
    const offered = () => h.runtime.offered(asker.principal).map(({ tool }) => tool);
    h.runtime.tools.follow(({ change }) => void (change === "policy" && seen.push(offered())));
    await h.runtime.policy.replace({ policy: { rules: [{ effect: "deny", tool: "drop" }] } }, ada);
    expect(seen).toEqual([["echo", "mail"]]);
  });

  it("counts calls that ran before it had a limit, as far back as it looks", async () => {
    await using h = await runtimeFixture({ autonomy: "A4" });
    const limitTo = (windowSeconds: number, atMost: number) => {
      const history = { within: "principal", windowSeconds, atMost } as const;
      return h.runtime.policy.replace({ policy: { rules: [{ effect: "deny", tool: "mail", history }] } }, ada);
    };
    const sent = async (to: string) => (await h.runtime.invoke(mail(to), asker)).status;
    expect(await sent("one")).toBe("ok");
    await h.clock.advance(700_000);
    await limitTo(600, 1);
    expect(await sent("two")).toBe("ok");
    expect(await sent("three")).toBe("denied");
    await limitTo(3_600, 2);
    expect(await sent("three")).toBe("denied");
    await limitTo(3_600, 3);
    expect(await sent("three")).toBe("ok");
  });

  it("brings its own guardrails and level, and an operator's level still holds", async () => {
    await using h = await runtimeFixture({ autonomy: "A4" });
    const secret: Guardrail = {
      name: "secret",
      on: "arguments",
      check: ({ text }) => (text.includes("secret") ? [{ effect: "DENY", why: "it names a secret" }] : []),
    };
    const { changes } = await h.runtime.policy.replace({ guardrails: [secret], autonomy: "A0" }, ada);
    expect(changes).toEqual(["The guardrail `secret` on arguments is added.", "`autonomy` was `A4` and is `A0` now."]);
    expect((await h.runtime.invoke(mail("secret"), asker)).refusal?.code).toBe("permission_denied");
    expect((await h.runtime.invoke(mail("a"), asker)).status).toBe("preview");
    await h.runtime.controls.setAutonomy("A4", ada);
    await h.runtime.policy.replace({ autonomy: "A1" }, ada);
    expect((await h.runtime.invoke(mail("b"), asker)).status).toBe("ok");
  });
});
