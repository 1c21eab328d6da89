import { describe, expect, it } from "vitest";
import type { Clock } from "../../packages/core/src/clock.ts";
import { ann, ask, bob, cal, deny, mail, routed, shownDigestOf } from "../fakes/deciders.ts";
import { bodyOf, httpFixture, inSession } from "../fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../fakes/people.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

describe("the list of requests", () => {
  it.each(["memory", "sqlite"])(
    "includes an escalated request for its new approvers from that moment on (%s)",
    async (store) => {
      const escalating = { to: { users: ["ann"] }, escalateAfterMs: 1000, escalateTo: { users: ["cal"] } };
      await using h = await runtimeFixture({ ...routed(escalating), ...(store === "memory" && { store }) });
      const first = await ask(h, mail("1"));
      await h.clock.advance(999);
      const theirs = async () => (await h.runtime.approvals.page({}, cal)).approvals.map(({ id }) => id);
      expect(await theirs()).toEqual([]);
      await h.clock.advance(1);
      const second = await ask(h, mail("2")); // alike in all but that
      expect(await theirs()).toEqual([first]);
      await h.clock.advance(1000);
      expect(await theirs()).toEqual([first, second]);
    },
  );

  it.each(["memory", "sqlite"])(
    "does not show an expired request as pending before the expiry is written (%s)",
    async (store) => {
      let passedMs = 0;
      const stopped: Clock = {
        now: () => Date.UTC(2026, 10, 20) + passedMs,
        monotonic: () => passedMs,
        in: () => () => undefined, // a timer that comes late
      };
      const approvals = { patience: "suspend", ttlMs: 1000 } as const;
      await using h = await runtimeFixture({ approvals, clock: stopped, ...(store === "memory" && { store }) });
      await ask(h, mail("1"));
      passedMs = 500;
      const later = await ask(h, mail("2"));
      const pending = async (limit: number) => {
        const { approvals: found, nextAfter } = await h.runtime.approvals.page({ state: "pending", limit });
        return [found.map(({ id }) => id), nextAfter !== undefined];
      };
      expect((await pending(9))[0]).toHaveLength(2);
      passedMs = 1000;
      expect(await pending(9)).toEqual([[later], false]);
      expect(await pending(1)).toEqual([[later], false]);
      expect(await h.runtime.approvals.list({ state: "pending" })).toHaveLength(1);
      passedMs = 1500;
      expect(await h.runtime.approvals.list({ state: "pending" })).toEqual([]);
    },
  );

  it("refuses a denial that names an outdated digest", async () => {
    await using h = await runtimeFixture(routed({ quorum: 2 }));
    const id = await ask(h);
    const before = await shownDigestOf(h, id);
    await h.runtime.approvals.decide(id, { decision: "modified", arguments: { to: "y" }, by: bob });
    for (const decision of ["denied", "skipped"] as const)
      expect(await h.runtime.approvals.decide(id, { decision, by: ann, ...before })).toMatchObject({
        code: "approval_changed",
      });
    expect(await deny(h, id, ann)).toMatchObject({ approval: { state: "denied" } });
  });

  it("a caller gets no explanation of another caller's run", async () => {
    await using h = await runtimeFixture();
    await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, { ...asker, runId: "theirs" });
    const other = { principal: { ...asker.principal, agent: "b" }, runId: "theirs" };
    expect(await h.runtime.explain(mail(), other)).toMatchObject({
      reached: "refused",
      refusal: { code: "run_foreign" },
    });
    expect(await h.runtime.explain(mail(), { ...other, ...asker })).toMatchObject({ reached: "verdict" });
  });
});

describe("a person with a session and an API token", () => {
  const drop = { tool: "drop", arguments: { to: "x" } };

  async function open(quorum: number) {
    const h = await runtimeFixture({ ...routed({ quorum }), accounts: { passwordCost: cheap } });
    const { accounts } = h.runtime;
    for (const name of ["ann", "bob"])
      await accounts.add({ name, roles: ["approver"], password: goodPassword }, holder);
    const http = await httpFixture(h.runtime, { accounts, clock: h.clock });
    const session = async (name: string) => inSession(entered(await accounts.signIn(name, goodPassword, here)));
    const { token, text } = await accounts.makeToken(
      { name: "ci", kind: "person" },
      await accounts.get("ann", holder),
      holder,
    );
    const headers = { authorization: `Bearer ${text}` };
    const approve = async (id: string, by: Readonly<Record<string, string>>, body: object = {}) =>
      bodyOf(await http.ask(`/v1/approvals/${id}/approve`, { headers: by, body }));
    const look = async (id: string, by: Readonly<Record<string, string>>) =>
      bodyOf(await http.ask(`/v1/approvals/${id}`, { headers: by }));
    const close = async (): Promise<void> => {
      await http[Symbol.asyncDispose]();
      await h.runtime.close();
    };
    return { h, session, token, byToken: headers, approve, look, [Symbol.asyncDispose]: close };
  }

  it("approves a critical request by the session, and learns before that the token cannot", async () => {
    await using scene = await open(1);
    const id = await ask(scene.h, drop);
    const typed = { confirmation: "drop" };
    expect((await scene.look(id, scene.byToken))["viewer"]).toMatchObject({ why_not: "sign_in" });
    expect(await scene.approve(id, scene.byToken, typed)).toMatchObject({ error: { code: "sign_in_needed" } });
    expect(await scene.approve(id, await scene.session("ann"), typed)).toMatchObject({ status: "approved" });
  });
});

it("says of a tool that has a sub-agent work what that may do at most", async () => {
  const delegate = { name: "delegate", description: "Asks a sub-agent.", risk: "high", effects: "write" } as const;
  const a2a = {
    ...delegate,
    toolType: "A2A",
    idempotent: false,
    input: { type: "object" },
    execute: () => "",
  } as const;
  await using h = await runtimeFixture(routed(), [a2a]);
  await using http = await httpFixture(h.runtime, { clock: h.clock, agentScopes: ["mail:read"] });
  const subAgentOf = async (tool: string, more: object): Promise<unknown> => {
    const made = await http.ask("/v1/calls", { as: "agent", body: { tool, ...more } });
    const shown = await http.ask(`/v1/approvals/${(await bodyOf(made))["approval_id"]}`, { as: "operator" });
    return (await bodyOf(shown))["sub_agent"];
  };
  expect(await subAgentOf("delegate", { arguments: {}, autonomy: "A1", scopes: ["mail:read"] })).toEqual({
    scopes: ["mail:read"],
    autonomy_level: "A1",
  });
  expect(await subAgentOf("mail", { arguments: { to: "x" } })).toBeUndefined();
});
