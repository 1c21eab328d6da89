import { describe, expect, it } from "vitest";
import { defineTool, type LocalTool } from "../../../packages/postern/src/index.ts";
import { createPolicy, type Policy } from "../../../packages/postern/src/policy/index.ts";
import { shownApproval } from "../../../packages/postern/src/server/wire.ts";
import { actor } from "../../fakes/actors.ts";
import { mail } from "../../fakes/deciders.ts";
import { asker, boss, eventTypes, type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { sqliteFiles } from "../../fakes/sqlite-files.ts";
import { approved } from "./approved.ts";

const files = sqliteFiles();

describe("a tool that changes between approval and use", () => {
  const tool = (more: Partial<LocalTool> = {}, ran: unknown[] = []): LocalTool =>
    defineTool({
      name: "pay",
      description: "Pays.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object", properties: { to: { type: "string" } } },
      execute: (given) => {
        ran.push(given);
        return "paid";
      },
      ...more,
    });
  const changes: readonly (readonly [string, Partial<LocalTool>])[] = [
    ["description", { description: "Pays twice." }],
    ["schema", { input: { type: "object", properties: { to: { type: "string" }, cc: { type: "string" } } } }],
    ["risk", { risk: "critical" }],
    ["effects", { effects: "destructive" }],
    ["scopes", { scopes: ["pay:all"] }],
    ["idempotence", { idempotent: true }],
  ];

  it.each(changes)(
    "voids the approval and runs nothing if its %s changed; a new request asks again",
    async (_what, change) => {
      const ran: unknown[] = [];
      await using h = await runtimeFixture({ policy: { rules: [{ effect: "allow", tool: "pay" }] } }, [
        tool({}, ran) as never,
      ]);
      const id = await approved(h, { tool: "pay", arguments: { to: "x" } });
      h.runtime.tools.register(tool(change, ran), { replace: true });
      await h.runtime.tools.ready();
      const outcome = await h.runtime.resume(id, {});
      expect(["approval_expired", "scope_missing"]).toContain(outcome?.refusal?.code);
      const again = await h.runtime.invoke({ tool: "pay", arguments: { to: "x" } }, { ...asker, scopes: ["pay:all"] });
      expect(again.approvalId ?? again.status).not.toBe(id);
      expect(ran).toEqual([]);
    },
  );

  it.each(changes)(
    "refuses an edit of what was shown if its %s changed, and the request stays open",
    async (_what, change) => {
      const ran: unknown[] = [];
      await using h = await runtimeFixture({ policy: { rules: [{ effect: "allow", tool: "pay" }] } }, [
        tool({}, ran) as never,
      ]);
      const call = { tool: "pay", arguments: { to: "x" } };
      const { approvalId = "" } = await h.runtime.invoke(call, { ...asker, scopes: ["pay:all"] });
      h.runtime.tools.register(tool(change, ran), { replace: true });
      await h.runtime.tools.ready();
      const edit = { decision: "modified", arguments: { to: "y" }, by: boss, confirmation: "pay" } as const;
      const decided = await h.runtime.approvals.decide(approvalId, edit);
      expect(decided).toMatchObject({ decided: false, code: "tool_changed", approval: { state: "pending" } });
      expect(await h.runtime.approvals.get(approvalId)).toMatchObject({ state: "pending", arguments: { to: "x" } });
      expect(ran).toEqual([]);
    },
  );

  it("runs if nothing changed", async () => {
    const ran: unknown[] = [];
    await using h = await runtimeFixture({}, [tool({}, ran) as never]);
    const id = await approved(h, { tool: "pay", arguments: { to: "x" } });
    h.runtime.tools.register(tool({}, ran), { replace: true });
    await h.runtime.tools.ready();
    expect((await h.runtime.resume(id))?.status).toBe("ok");
    expect(ran).toEqual([{ to: "x" }]);
  });

  it("is unknown while it is missing; when it is back, the approval still holds", async () => {
    const ran: unknown[] = [];
    await using h = await runtimeFixture({}, [tool({}, ran) as never]);
    const id = await approved(h, { tool: "pay", arguments: { to: "x" } });
    h.runtime.tools.unregister("pay");
    expect((await h.runtime.resume(id))?.refusal?.code).toBe("tool_unknown");
    h.runtime.tools.register(tool({}, ran));
    await h.runtime.tools.ready();
    expect((await h.runtime.resume(id))?.status).toBe("ok");
    expect(ran).toHaveLength(1);
  });
});

describe("a policy tightened between approval and use", () => {
  const tighten: readonly (readonly [string, string, (h: RuntimeFixture, deny: () => void) => unknown])[] = [
    [
      "the tool is switched off",
      "tool_unavailable",
      (h) => h.runtime.controls.setTool("mail", false, actor("operator")),
    ],
    ["everything is paused", "paused", (h) => h.runtime.controls.pause(actor("operator"))],
    ["autonomy is lowered to A0", "preview", (h) => h.runtime.controls.setAutonomy("A0", actor("operator"))],
    ["a rule denies it", "permission_denied", (_h, deny) => deny()],
  ];

  it.each(tighten)("runs nothing in 100 attempts when %s", async (_how, code, revoke) => {
    let policy = createPolicy();
    const swapping: Policy = {
      get version() {
        return policy.version;
      },
      decide: (facts) => policy.decide(facts),
      offers: (principal, tool) => policy.offers(principal, tool),
    };
    await using h = await runtimeFixture({ policy: swapping, autonomy: "A2" });
    const ids: string[] = [];
    for (let i = 0; i < 100; i += 1) ids.push(await approved(h, mail(`${i}`)));
    const waiting = h.runtime.invoke(mail("waits"), { ...asker, patience: "wait" });
    await h.clock.advance(1);
    await revoke(h, () => {
      policy = createPolicy({ rules: [{ effect: "deny", tool: "mail" }] });
    });
    const [open] = await h.runtime.approvals.list({ state: "pending" });
    await h.runtime.approvals.decide(open?.id ?? "", { decision: "approved", by: boss });
    const outcomes = await Promise.all([
      waiting,
      ...ids.map((id) => h.runtime.resume(id)),
      ...ids.map((_, i) => h.runtime.invoke(mail(`${i}`), asker)),
    ]);
    for (const outcome of outcomes) expect(outcome?.refusal?.code ?? outcome?.status).toBe(code);
    expect(h.ran).toEqual([]);
    expect(await eventTypes(h.runtime)).not.toContain("tool_call.attempted");
  });

  it("blocks a critical call by its level, and no approval lifts that", async () => {
    await using h = await runtimeFixture();
    const id = await approved(h, { tool: "drop", arguments: { to: "x" } });
    await h.runtime.controls.setAutonomy("A2", actor("operator"));
    expect((await h.runtime.resume(id))?.refusal?.code).toBe("blocked");
    expect(h.ran).toEqual([]);
  });
});

describe("a preview", () => {
  const previewing = (shows: () => string, more = {}): never =>
    ({
      name: "pay",
      description: "Pays.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object" },
      preview: () => ({ summary: shows() }),
      execute: () => "paid",
      ...more,
    }) as never;

  it("voids the approval if it would now show something else", async () => {
    let balance = 10;
    await using h = await runtimeFixture({}, [previewing(() => `pays from ${balance}`)]);
    const id = await approved(h, { tool: "pay", arguments: {} });
    balance = 0;
    const outcome = await h.runtime.resume(id);
    expect(outcome?.refusal?.code).toBe("approval_expired");
    expect(outcome?.text).toContain("preview");
    expect((await h.runtime.approvals.get(id))?.state).toBe("withdrawn");
    balance = 10;
    expect((await h.runtime.resume(id))?.status).not.toBe("ok");
    expect(await eventTypes(h.runtime)).not.toContain("tool_call.attempted");
  });

  it("lets the call run if it shows the same, and voids the approval if it fails", async () => {
    let fails = false;
    await using h = await runtimeFixture({}, [
      previewing(() => {
        if (fails) throw new Error("no");
        return "pays";
      }),
    ]);
    const first = await approved(h, { tool: "pay", arguments: { n: 1 } });
    expect((await h.runtime.resume(first))?.status).toBe("ok");
    const second = await approved(h, { tool: "pay", arguments: { n: 2 } });
    fails = true;
    expect((await h.runtime.resume(second))?.refusal?.code).toBe("approval_expired");
  });

  it("makes the call ask again if it changed, and the call runs once that is approved", async () => {
    let balance = 10;
    await using h = await runtimeFixture({}, [previewing(() => `pays from ${balance}`)]);
    const call = { tool: "pay", arguments: {} };
    const first = await approved(h, call);
    balance = 5;
    expect(await h.runtime.invoke(call, asker)).toMatchObject({
      status: "denied",
      refusal: { code: "approval_expired", retry: "ask-again" },
    });
    expect(await h.runtime.approvals.get(first)).toMatchObject({
      state: "withdrawn",
      decision: { by: "policy", reason: "its preview differs from what was shown" },
    });
    const { approvalId: second = "" } = await h.runtime.invoke(call, asker);
    expect(second).not.toBe(first);
    expect(await h.runtime.approvals.get(second)).toMatchObject({ preview: { summary: "pays from 5" } });
    await h.runtime.approvals.decide(second, { decision: "approved", by: boss });
    expect((await h.runtime.invoke(call, asker)).status).toBe("ok");
  });

  it("that declares itself volatile is marked on the card, and the call runs", async () => {
    let rate = 1.07;
    await using h = await runtimeFixture({}, [previewing(() => `sells at ${rate}`, { previewBinds: false })]);
    const id = await approved(h, { tool: "pay", arguments: {} });
    const record = await h.runtime.approvals.get(id);
    expect(record && shownApproval(record)).toMatchObject({ preview_binds: false });
    rate = 1.08;
    expect((await h.runtime.resume(id))?.status).toBe("ok");
  });

  it("that became volatile or binding while the request waited voids the approval", async () => {
    for (const [before, after] of [
      [true, false],
      [false, true],
    ]) {
      await using h = await runtimeFixture({}, [previewing(() => "pays", { previewBinds: before })]);
      const id = await approved(h, { tool: "pay", arguments: {} });
      h.runtime.tools.register(
        previewing(() => "pays", { previewBinds: after }),
        { replace: true },
      );
      expect((await h.runtime.resume(id))?.refusal?.code).toBe("approval_expired");
    }
  });

  it.each<[string, string, string]>([
    ["the same, and the call runs", "10", "ok"],
    ["something else, and the approval is void", "0", "approval_expired"],
    ["nothing, and the approval is void", "", "approval_expired"],
  ])("is compared after a restart: it shows %s", async (_, later, ends) => {
    const open = (store: string, balance: string): ReturnType<typeof runtimeFixture> =>
      runtimeFixture({ store }, [
        previewing(() => `pays from ${balance}`, balance === "" ? { preview: undefined } : {}),
      ]);
    const store = `sqlite:${files.at(`previewed-${later}.db`)}`;
    let id = "";
    {
      await using h = await open(store, "10");
      id = await approved(h, { tool: "pay", arguments: {} });
    }
    await using h = await open(store, later);
    const outcome = await h.runtime.resume(id);
    expect(outcome?.refusal?.code ?? outcome?.status).toBe(ends);
    const types = await eventTypes(h.runtime);
    expect(types.includes("tool_call.attempted")).toBe(ends === "ok");
  });
});
