import { mkdtempSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPolicy, defineTool, type LocalTool, type Policy } from "../../../src/index.ts";
import type { JsonObject } from "../../../src/calls/json.ts";
import { asker, boss, eventTypes, type House, house } from "../../fakes/house.ts";

const mail = (to: string): { tool: string; arguments: { to: string } } => ({
  tool: "mail",
  arguments: { to },
});

async function approved(h: House, request: { tool: string; arguments: JsonObject } = mail("x")): Promise<string> {
  const { approvalId = "" } = await h.runtime.invoke(request, asker);
  const decided = await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  expect(decided.decided).toBe(true);
  return approvalId;
}

describe("a record edited in the store", () => {
  const folder = mkdtempSync(join(tmpdir(), "postern-edited-"));
  /** Each bound field of the request as it is kept, and of the call it belongs to. */
  const edits: readonly (readonly [string, (database: DatabaseSync) => unknown])[] = [
    ...([
      ["arguments", { to: "evil" }],
      ["tool", "drop"],
      ["action", "other"],
      ["principal", { ...asker.principal, agent: "b" }],
      ["principal", { ...asker.principal, user: "boss" }],
      ["principal", { ...asker.principal, tenant: "other" }],
      ["expiresAt", Date.UTC(2099, 0)],
      ["binding", "0".repeat(64)],
      ["definition", "0".repeat(64)],
    ] as const).map(([field, value]) => [
      `approval.${field} ${JSON.stringify(value)}`,
      (database: DatabaseSync) =>
        database.prepare("update approval set body = json_set(body, ?, json(?))").run(`$.${field}`, JSON.stringify(value)),
    ] as const),
    ["call.tool", (database) => database.exec("update call set tool = 'drop'")],
    ["call.action", (database) => database.exec("update call set action = 'other'")],
    ["call.authority", (database) => database.exec("update call set authority = json_set(authority, '$.principal.agent', 'b')")],
  ];

  it.each(edits)("%s / refused, nothing runs", async (name, edit) => {
    const file = join(folder, `${edits.findIndex(([other]) => other === name)}.db`);
    const options = { store: `sqlite:${file}`, folder: `${file}.keys` };
    let id = "";
    {
      await using before = await house(options);
      id = await approved(before);
    }
    const database = new DatabaseSync(file);
    edit(database);
    database.close();
    await using h = await house(options);
    const outcome = await h.runtime.resume(id);
    expect(outcome?.status, outcome?.text).not.toBe("ok");
    await h.runtime.invoke(mail("x"), asker);
    expect(h.ran).toEqual([]);
  });

  it("the call's own arguments / what runs is what was shown", async () => {
    const file = join(folder, "arguments.db");
    const options = { store: `sqlite:${file}`, folder: `${file}.keys` };
    let id = "";
    {
      await using before = await house(options);
      id = await approved(before);
    }
    const database = new DatabaseSync(file);
    database.exec(`update call set arguments = '{"to":"evil"}'`);
    database.close();
    await using h = await house(options);
    await h.runtime.resume(id);
    expect(h.ran).toEqual([{ to: "x" }]);
  });
});

describe("a tool that changes between approval and use", () => {
  const tool = (more: Partial<LocalTool> = {}, ran: unknown[] = []): LocalTool =>
    defineTool({
      name: "pay", description: "Pays.", risk: "high", effects: "write", idempotent: false,
      input: { type: "object", properties: { to: { type: "string" } } },
      execute: (given) => { ran.push(given); return "paid"; },
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

  it.each(changes)("its %s / the approval is void, nothing runs, sending again asks anew", async (_what, change) => {
    const ran: unknown[] = [];
    await using h = await house({ policy: { rules: [{ effect: "allow", tool: "pay" }] } }, [tool({}, ran) as never]);
    const id = await approved(h, { tool: "pay", arguments: { to: "x" } });
    h.runtime.tools.register(tool(change, ran), { replace: true });
    await h.runtime.tools.ready();
    const outcome = await h.runtime.resume(id, {});
    expect(["approval_expired", "scope_missing"]).toContain(outcome?.refusal?.code);
    const anew = await h.runtime.invoke({ tool: "pay", arguments: { to: "x" } }, { ...asker, scopes: ["pay:all"] });
    expect(anew.approvalId ?? anew.status).not.toBe(id);
    expect(ran).toEqual([]);
  });

  it("nothing of it / the approval holds", async () => {
    const ran: unknown[] = [];
    await using h = await house({}, [tool({}, ran) as never]);
    const id = await approved(h, { tool: "pay", arguments: { to: "x" } });
    h.runtime.tools.register(tool({}, ran), { replace: true });
    await h.runtime.tools.ready();
    expect((await h.runtime.resume(id))?.status).toBe("ok");
    expect(ran).toEqual([{ to: "x" }]);
  });

  it("is taken away / unknown, nothing runs; back again, the approval still holds", async () => {
    const ran: unknown[] = [];
    await using h = await house({}, [tool({}, ran) as never]);
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
  const tighten: readonly (readonly [string, string, (h: House, deny: () => void) => unknown])[] = [
    ["the tool is switched off", "tool_unavailable", (h) => h.runtime.controls.setTool("mail", false, "operator")],
    ["everything is paused", "paused", (h) => h.runtime.controls.pause("operator")],
    ["autonomy is lowered to A0", "preview", (h) => h.runtime.controls.setAutonomy("A0", "operator")],
    ["a rule denies it", "permission_denied", (_h, deny) => deny()],
  ];

  it.each(tighten)("%s, 100 times / 0 executed", async (_how, code, revoke) => {
    let policy = createPolicy();
    const swapping: Policy = {
      get version() {
        return policy.version;
      },
      decide: (facts) => policy.decide(facts),
      offers: (principal, tool) => policy.offers(principal, tool),
    };
    await using h = await house({ policy: swapping, autonomy: "A2" });
    const ids: string[] = [];
    for (let i = 0; i < 100; i += 1) ids.push(await approved(h, mail(`${i}`)));
    const waiting = h.runtime.invoke(mail("waits"), { ...asker, patience: "wait" });
    await h.clock.advance(1);
    await revoke(h, () => {
      policy = createPolicy({ rules: [{ effect: "deny", tool: "mail" }] });
    });
    const [open] = await h.runtime.approvals.list({ state: "pending" });
    await h.runtime.approvals.decide(open?.id ?? "", { decision: "approved", by: boss });
    const outcomes = await Promise.all([waiting, ...ids.map((id) => h.runtime.resume(id)), ...ids.map((_, i) => h.runtime.invoke(mail(`${i}`), asker))]);
    for (const outcome of outcomes) expect(outcome?.refusal?.code ?? outcome?.status).toBe(code);
    expect(h.ran).toEqual([]);
    expect(await eventTypes(h.runtime)).not.toContain("tool_call.attempted");
  });

  it("critical becomes blocked by a level / no approval lifts it", async () => {
    await using h = await house();
    const id = await approved(h, { tool: "drop", arguments: { to: "x" } });
    await h.runtime.controls.setAutonomy("A2", "operator");
    expect((await h.runtime.resume(id))?.refusal?.code).toBe("blocked");
    expect(h.ran).toEqual([]);
  });
});

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

  it.each(texts)("%s / runs as exactly what was shown, or is another call", async (_what, text) => {
    const ran: JsonObject[] = [];
    await using h = await house({}, [
      {
        name: "pay", description: "Pays.", risk: "high", effects: "write", idempotent: false,
        input: { type: "object", properties: { to: { type: "string" }, n: { type: "number" } }, required: ["to", "n"] },
        execute: (given: unknown) => { ran.push(given as JsonObject); return "paid"; },
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
    const same = JSON.stringify(JSON.parse(text), ["n", "to"]) === '{"n":1,"to":"é"}' && Object.keys(JSON.parse(text) as object).length === 2;
    expect(outcome.status === "ok").toBe(same);
    expect(({} as { to?: string }).to).toBeUndefined();
  });

  it("under one key, other arguments / a conflict, never the shown call's result", async () => {
    await using h = await house();
    const keyed = { ...asker, idempotencyKey: "k" };
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), keyed);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    expect((await h.runtime.invoke(mail("х"), keyed)).refusal?.code).toBe("idempotency_conflict");
    expect(h.ran).toEqual([]);
    expect((await h.runtime.invoke(mail("x"), keyed)).status).toBe("ok");
  });

  it("of the asker's object, changed while a person thinks / what was shown runs", async () => {
    await using h = await house();
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

describe("an artifact that an approved call names", () => {
  it("is bound by its digest: other bytes are another call, and a foreign or missing one is refused before anybody is asked", async () => {
    const ran: unknown[] = [];
    await using h = await house({}, [
      {
        name: "post", description: "Posts.", risk: "high", effects: "write", idempotent: false,
        input: { type: "object", properties: { body: { type: "string" } }, required: ["body"] },
        execute: (given: unknown) => { ran.push(given); return "posted"; },
      },
    ]);
    const put = (text: string, owner: { tenant: string; agent: string } = asker.principal) => h.runtime.artifacts.put(new TextEncoder().encode(text), "text/plain", owner);
    const good = (await put("good")).digest;
    const evil = (await put("evil")).digest;
    const foreign = (await put("foreign", { tenant: "default", agent: "b" })).digest;
    const post = (digest: string): { tool: string; arguments: JsonObject } => ({ tool: "post", arguments: { body: { $artifact: digest } } });
    const id = await approved(h, post(good));
    expect((await h.runtime.invoke(post(evil), asker)).approvalId).not.toBe(id);
    expect((await h.runtime.invoke(post(foreign), asker)).refusal?.code).toBe("artifact_unavailable");
    expect((await h.runtime.invoke(post("0".repeat(64)), asker)).refusal?.code).toBe("artifact_unavailable");
    expect((await h.runtime.approvals.decide(id, { decision: "modified", arguments: { body: { $artifact: foreign } }, by: boss })).decided).toBe(false);
    expect((await h.runtime.resume(id))?.status).toBe("ok");
    expect(ran).toEqual([{ body: "good" }]);
  });

  it("whose bytes were swapped in the folder after the approval / not run with them", async () => {
    const { readdirSync, writeFileSync, chmodSync, statSync } = await import("node:fs");
    const folder = mkdtempSync(join(tmpdir(), "postern-swapped-"));
    const ran: unknown[] = [];
    await using h = await house({ folder }, [
      {
        name: "post", description: "Posts.", risk: "high", effects: "write", idempotent: false,
        input: { type: "object", properties: { body: { type: "string" } }, required: ["body"] },
        execute: (given: unknown) => { ran.push(given); return "posted"; },
      },
    ]);
    const { digest } = await h.runtime.artifacts.put(new TextEncoder().encode("good"), "text/plain", asker.principal);
    const id = await approved(h, { tool: "post", arguments: { body: { $artifact: digest } } });
    const files = readdirSync(join(folder, "artifacts"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => statSync(file).size === 4);
    expect(files).toHaveLength(1);
    for (const file of files) {
      chmodSync(file, 0o600);
      writeFileSync(file, "evil");
    }
    expect((await h.runtime.resume(id))?.status).not.toBe("ok");
    expect(ran).toEqual([]);
  });
});

describe("a preview that binds", () => {
  const previewing = (shows: () => string): never => ({
    name: "pay", description: "Pays.", risk: "high", effects: "write", idempotent: false, previewBinds: true,
    input: { type: "object" },
    preview: () => ({ summary: shows() }),
    execute: () => "paid",
  }) as never;

  it("and would show another thing now / the approval is void, nothing runs", async () => {
    let balance = 10;
    await using h = await house({}, [previewing(() => `pays from ${balance}`)]);
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

  it("and shows the same / runs; one that fails now / void", async () => {
    let fails = false;
    await using h = await house({}, [previewing(() => { if (fails) throw new Error("no"); return "pays"; })]);
    const first = await approved(h, { tool: "pay", arguments: { n: 1 } });
    expect((await h.runtime.resume(first))?.status).toBe("ok");
    const second = await approved(h, { tool: "pay", arguments: { n: 2 } });
    fails = true;
    expect((await h.runtime.resume(second))?.refusal?.code).toBe("approval_expired");
  });
});

describe("edited arguments", () => {
  const classed = { ...{ name: "pay", description: "Pays.", risk: "high", effects: "write", idempotent: false } } as const;

  it("that the policy would block are refused when edited, with the rule's words", async () => {
    await using h = await house({ autonomy: "A2" }, [
      { ...classed, input: { type: "object", properties: { n: { type: "number" } } }, classifyRisk: (given: unknown) => ((given as { n: number }).n > 100 ? "critical" : "high"), execute: () => "paid" },
    ]);
    const { approvalId = "" } = await h.runtime.invoke({ tool: "pay", arguments: { n: 1 } }, asker);
    const edited = await h.runtime.approvals.decide(approvalId, { decision: "modified", arguments: { n: 1000 }, by: boss });
    expect(edited).toMatchObject({ decided: false, code: "edit_refused", refusal: { code: "blocked" } });
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });

  it("are gated again when run: what became critical meanwhile is blocked", async () => {
    let limit = 100;
    const ran: unknown[] = [];
    await using h = await house({ autonomy: "A2" }, [
      { ...classed, input: { type: "object", properties: { n: { type: "number" } } }, classifyRisk: (given: unknown) => ((given as { n: number }).n > limit ? "critical" : "high"), execute: (given: unknown) => { ran.push(given); return "paid"; } },
    ]);
    const { approvalId = "" } = await h.runtime.invoke({ tool: "pay", arguments: { n: 1 } }, asker);
    expect((await h.runtime.approvals.decide(approvalId, { decision: "modified", arguments: { n: 50 }, by: boss })).decided).toBe(true);
    limit = 10;
    expect((await h.runtime.resume(approvalId))?.refusal?.code).toBe("blocked");
    limit = 100;
    expect((await h.runtime.resume(approvalId))?.status).toBe("ok");
    expect(ran).toEqual([{ n: 50 }]);
  });

  it("that are not JSON, too deep or of the wrong kind / refused, still open", async () => {
    await using h = await house();
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    const cycle: Record<string, unknown> = { to: "x" };
    cycle["self"] = cycle;
    for (const ugly of [cycle, [], null, "text", { to: 1n }, { to: "\udfff" }, { to: 1 }]) {
      const decided = await h.runtime.approvals.decide(approvalId, { decision: "modified", arguments: ugly as never, by: boss });
      expect(decided.decided).toBe(false);
    }
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });
});
