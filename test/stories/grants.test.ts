import { describe, expect, it } from "vitest";
import {
  createRuntime,
  type Decider,
  defineTool,
  type Remember,
  type Runtime,
  type RuntimeOptions,
} from "../../src/index.ts";
import { actor } from "../fakes/actors.ts";
import { FakeClock } from "../fakes/clock.ts";
import { asker, eventTypes, type House, house } from "../fakes/house.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";

const files = sqliteFiles();
const ann: Decider = { user: "ann", via: "session:1", tenant: "default", signedIn: true };
const mail = (to: string) => ({ tool: "mail", arguments: { to } });
const forRun: Remember = { for: "run", reason: "they are all to the team" };

const ask = async (h: House, to = "x", more = {}): Promise<string> =>
  (await h.runtime.invoke(mail(to), { ...asker, ...more })).approvalId ?? "";
const remember = (h: House, id: string, what: Remember = forRun, more = {}) =>
  h.runtime.approvals.decide(id, { decision: "approved", by: ann, remember: what, ...more });
const status = async (h: House, to: string, more = {}): Promise<string> =>
  (await h.runtime.invoke(mail(to), { ...asker, ...more })).status;

describe("a yes that is remembered", () => {
  it("answers the next calls like it, names itself in the log and in explain, and counts its uses", async () => {
    await using h = await house();
    const decided = await remember(h, await ask(h));
    const grant = decided.decided ? decided.grant : undefined;
    expect(grant).toMatchObject({ tool: "mail", for: "run", by: "ann", reason: "they are all to the team", uses: 0 });
    expect([await status(h, "y"), await status(h, "z")]).toEqual(["ok", "ok"]);
    expect(h.ran).toEqual([{ to: "y" }, { to: "z" }]);
    const rule = `grant ${grant?.id} of ann: they are all to the team`;
    const attempts = await h.runtime.audit.query({ type: "tool_call.attempted" });
    for (const event of attempts)
      expect(event).toMatchObject({
        verdict: "CONFIRM",
        reasons: expect.arrayContaining([expect.objectContaining({ rule })]),
      });
    expect(await h.runtime.explain(mail("q"), asker)).toMatchObject({
      reached: "verdict",
      decision: { verdict: "CONFIRM", grant: grant?.id, reasons: expect.arrayContaining([{ rule, says: "ALLOW" }]) },
    });
    expect(h.runtime.approvals.grants.list()).toMatchObject([{ id: grant?.id, uses: 2, lastUsedAt: h.clock.now() }]);
    expect(await eventTypes(h.runtime)).toContain("grant.made");
  });

  it("answers only arguments that fit its pattern", async () => {
    await using h = await house();
    const pattern: Remember = { ...forRun, scope: { arguments: { "$.to": { like: "*@example.com" } } } };
    await remember(h, await ask(h, "ann@example.com"), pattern);
    expect(await status(h, "bob@example.com")).toBe("ok");
    expect(await status(h, "bob@elsewhere.org")).toBe("pending");
  });

  it("answers only the very object and the very list it was given to, after a restart too", async () => {
    const set = { state: "closed", tags: [1, { a: null }] };
    const rows = { table: "users", set, ids: [3, 1] };
    const update = {
      name: "update",
      description: "Updates rows.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object" },
      execute: async () => "updated",
    } as const;
    const clock = new FakeClock();
    const open = () => house({ clock, store: `sqlite:${files.at("whole.db")}` }, [update as never]);
    const says = async (h: House, more: object): Promise<string> =>
      (await h.runtime.invoke({ tool: "update", arguments: { ...rows, ...more } }, { ...asker, runId: "r" })).status;
    const before = await open();
    const call = { tool: "update", arguments: rows };
    const { approvalId = "" } = await before.runtime.invoke(call, { ...asker, runId: "r" });
    const scope = { arguments: { "$.set": { equals: set }, "$.ids": { oneOf: [[3, 1], []] } } };
    expect(await remember(before, approvalId, { ...forRun, scope })).toMatchObject({ decided: true });
    await before.runtime.close();
    await using h = await open();
    expect(await says(h, { table: "others" })).toBe("ok");
    expect(await says(h, { set: { tags: [1, { a: null }], state: "closed" }, ids: [] })).toBe("ok");
    for (const other of [
      { set: { ...set, more: 1 } },
      { set: { state: "closed" } },
      { set: { ...set, tags: [1, { a: 0 }] } },
      { set: [set] },
      { ids: [1, 3] },
      { ids: [3, 1, 1] },
    ])
      expect([other, await says(h, other)]).toEqual([other, "pending"]);
  });

  it("holds in its run, for its asker, and for nobody else", async () => {
    await using h = await house();
    await remember(h, await ask(h));
    expect(await status(h, "y", { runId: "another" })).toBe("pending");
    expect(await status(h, "y", { principal: { ...asker.principal, agent: "b" } })).toBe("pending");
    expect((await h.runtime.invoke({ tool: "drop", arguments: { to: "y" } }, asker)).status).toBe("pending");
    expect(await status(h, "z")).toBe("ok");
  });

  it("holds for the user it was asked for, whoever else the same agent calls for", async () => {
    await using h = await house();
    const always: Remember = { for: { until: h.clock.now() + 60_000 }, reason: "a minute" };
    await remember(h, await ask(h), always);
    const { user: _, ...nobody } = asker.principal;
    expect(await status(h, "y", { principal: { ...asker.principal, user: "else" }, runId: "r2" })).toBe("pending");
    expect(await status(h, "y", { principal: nobody, runId: "r3" })).toBe("pending");
    expect(await status(h, "y", { runId: "r4" })).toBe("ok");
    const other = await ask(h, "z", { principal: nobody, runId: "r5" });
    await remember(h, other, always);
    expect(await status(h, "q", { principal: { ...asker.principal, user: "else" }, runId: "r6" })).toBe("pending");
  });

  it("holds in its session while that lives", async () => {
    await using h = await house();
    await using session = h.runtime.openSession({}, asker);
    const { approvalId = "" } = await session.invoke(mail("x"));
    await remember(h, approvalId, { for: "session", reason: "this sitting" });
    expect((await session.invoke(mail("y"))).status).toBe("ok");
    await using other = h.runtime.openSession({}, asker);
    expect((await other.invoke(mail("y2"))).status).toBe("pending");
  });

  it("holds until its time, in every run", async () => {
    await using h = await house();
    await remember(h, await ask(h), { for: { until: h.clock.now() + 60_000 }, reason: "a minute" });
    expect(await status(h, "y", { runId: "another" })).toBe("ok");
    await h.clock.advance(60_000);
    expect(await status(h, "z", { runId: "another" })).toBe("pending");
    expect(h.runtime.approvals.grants.list({ state: "over" })).toHaveLength(1);
  });

  it("is over at once when it is revoked, which is told by whom and why", async () => {
    await using h = await house();
    await remember(h, await ask(h));
    const [grant] = h.runtime.approvals.grants.list({ state: "live" });
    expect(await h.runtime.approvals.grants.revoke(grant?.id ?? "", { user: "bob" }, "enough")).toMatchObject({
      revoked: { by: "bob", reason: "enough" },
    });
    expect(await status(h, "y")).toBe("pending");
    expect(await h.runtime.approvals.grants.revoke(grant?.id ?? "", ann)).toMatchObject({ revoked: { by: "bob" } });
    expect(await h.runtime.approvals.grants.revoke("grt_none", ann)).toBeUndefined();
    const [event] = await h.runtime.audit.query({ type: "grant.revoked" });
    expect(event).toMatchObject({ decided_by: "bob", data: { grant_id: grant?.id, reason: "enough" } });
  });

  it("comes from an edit as well, and answers what the edited call is like", async () => {
    await using h = await house();
    const id = await ask(h, "wrong");
    const scope = { arguments: { "$.to": { equals: "right" } } };
    const edit = { decision: "modified" as const, by: ann, arguments: { to: "right" } };
    const decided = await h.runtime.approvals.decide(id, { ...edit, remember: { ...forRun, scope } });
    expect(decided).toMatchObject({ decided: true, grant: { arguments: scope.arguments } });
    expect(await status(h, "right")).toBe("ok");
  });
});

describe("a grant lowers nothing", () => {
  it("does not lift a block, nor the PREVIEW of the lowest level", async () => {
    await using h = await house({ autonomy: "A2" });
    await remember(h, await ask(h));
    await h.runtime.controls.setAutonomy("A0", actor("boss"));
    expect(await status(h, "y")).toBe("preview");
    await using blocked = await house({
      policy: { rules: [{ effect: "deny", tool: "mail", arguments: { "$.to": { equals: "evil" } } }] },
    });
    await remember(blocked, await ask(blocked));
    expect([await status(blocked, "evil"), await status(blocked, "y")]).toEqual(["denied", "ok"]);
  });

  it("does not answer what another rule asks", async () => {
    const rules = [
      { effect: "confirm" as const, tool: "mail", arguments: { "$.to": { like: "*boss*" } }, id: "bosses" },
    ];
    await using h = await house({ policy: { rules } });
    await remember(h, await ask(h));
    expect([await status(h, "the boss"), await status(h, "y")]).toEqual(["pending", "ok"]);
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
      clock: new FakeClock(),
      tools: [pay],
      approvals: { patience: "suspend" },
    });
    const invoke = (sum: number) => runtime.invoke({ tool: "pay", arguments: { sum } }, asker);
    const { approvalId = "" } = await invoke(5);
    await runtime.approvals.decide(approvalId, { decision: "approved", by: ann, remember: forRun });
    expect([(await invoke(6)).status, (await invoke(500)).status]).toEqual(["ok", "pending"]);
  });

  it("does not answer what a route of today would let nobody remember", async () => {
    const store = `sqlite:${files.at("routes.db")}`;
    const clock = new FakeClock();
    const before = await house({ store, clock });
    await remember(before, await ask(before, "x", { runId: "r" }), {
      for: { until: clock.now() + 60_000 },
      reason: "ok",
    });
    expect(await status(before, "y", { runId: "r" })).toBe("ok");
    await before.runtime.close();
    await using h = await house({ store, clock, approvals: { patience: "suspend", routes: [{ remember: false }] } });
    expect(await status(h, "z", { runId: "r" })).toBe("pending");
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
      "more than anybody reads",
      { scope: { arguments: { "$.to": { oneOf: ["x", ...Array.from({ length: 11 }, () => "a".repeat(9_900))] } } } },
      /`remember\.scope\.arguments` are 10\d{4} characters of JSON, and 100000 are the most/,
    ],
    ["no reason", { reason: " " }, /remember\.reason/],
    ["a time that is over", { for: { until: 1 } }, /still to come/],
    ["for ever", { for: { until: 9e15 } }, /90 days/],
    ["something unheard of", { for: "ever" as "run" }, /`remember` is/],
    ["a field too many", { who: "me" } as Partial<Remember>, /`remember` is/],
  ])("is refused with %s, and then nothing is decided", async (_, more, message) => {
    await using h = await house();
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

  it("is not made of a no, of what is critical, or under a quorum", async () => {
    await using h = await house({
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

describe("a grant is kept", () => {
  const tool = (description: string) =>
    defineTool({
      name: "mail",
      description,
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      execute: () => "sent",
    });
  const open = (name: string, clock: FakeClock, description: string): Promise<Runtime> => {
    const options: RuntimeOptions = { store: `sqlite:${files.at(name)}`, clock, tools: [tool(description)] };
    return createRuntime({ ...options, approvals: { patience: "suspend" } });
  };
  const until = (clock: FakeClock): Remember => ({ for: { until: clock.now() + 3_600_000 }, reason: "for an hour" });

  it("with its uses over a restart, and void as soon as the tool is defined otherwise", async () => {
    const clock = new FakeClock();
    const first = await open("kept.db", clock, "Sends a mail.");
    const { approvalId = "" } = await first.invoke(mail("x"), asker);
    await first.approvals.decide(approvalId, { decision: "approved", by: ann, remember: until(clock) });
    expect((await first.invoke(mail("y"), asker)).status).toBe("ok");
    await first.close();
    const second = await open("kept.db", clock, "Sends a mail.");
    expect((await second.invoke(mail("z"), asker)).status).toBe("ok");
    expect(second.approvals.grants.list({ state: "live" })).toMatchObject([{ uses: 2 }]);
    await second.close();
    await using changed = await open("kept.db", clock, "Sends a mail, and a copy to me.");
    expect((await changed.invoke(mail("q"), asker)).status).toBe("pending");
    expect(changed.approvals.grants.list({ state: "void" })).toHaveLength(1);
  });
});

it("costs a call that needs nobody no look and no await", async () => {
  await using h = await house();
  await remember(h, await ask(h));
  let looked = 0;
  const shelf = h.runtime.approvals.grants;
  const answering = (shelf as unknown as { answering: (...given: unknown[]) => unknown }).answering;
  const watched = (...given: unknown[]): unknown => {
    looked += 1;
    return answering.apply(shelf, given);
  };
  Object.assign(shelf, { answering: watched });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, asker);
  expect(looked).toBe(0);
  expect(await status(h, "y")).toBe("ok");
  expect(looked).toBe(1);
});
