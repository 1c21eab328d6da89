import { describe, expect, it } from "vitest";
import { createRedactor } from "../../src/secrets/redactor.ts";
import { actor } from "../fakes/actors.ts";
import { FakeClock } from "../fakes/clock.ts";
import { type Failing, FaultyStore } from "../fakes/faulty-store.ts";
import { posting, probe } from "../fakes/probe.ts";
import { asker, boss, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } } as const;

describe("what has begun", () => {
  it("store blips once while recording the outcome / the record is retried; effect not re-run, not reported failed (case 166)", async () => {
    const clock = new FakeClock();
    const failing: Failing = new Map();
    await using h = await runtimeFixture({ clock, store: new FaultyStore(clock, failing), autonomy: "A4" });
    failing.set("settle", 1);
    const running = h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { ...asker, idempotencyKey: "k" });
    await clock.advance(1000);
    expect(await running).toMatchObject({ status: "ok", text: "to x" });
    expect(
      await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { ...asker, idempotencyKey: "k" }),
    ).toMatchObject({ text: "to x", replayed: true });
    expect(h.ran).toHaveLength(1);
    expect(await eventTypes(h.runtime)).toEqual(["tool_call.attempted", "tool_call.succeeded", "tool_call.deduped"]);
  });

  it("intent recorded before execution / order in the log / attempted precedes the tool's own effect (case 167)", async () => {
    let types: readonly string[] = [];
    await using h = await runtimeFixture(
      { autonomy: "A4" },
      probe({
        risk: "high",
        effects: "write",
        idempotent: false,
        execute: async () => {
          types = await eventTypes(h.runtime);
          return "done";
        },
      }),
    );
    await h.runtime.invoke({ tool: "probe" }, asker);
    expect(types).toEqual(["tool_call.attempted"]);
  });

  it("a lent secret in the arguments / refused secret_in_arguments before anybody is asked (case 168)", async () => {
    const redactor = createRedactor();
    redactor.learn("a-long-secret-value");
    await using h = await runtimeFixture({ redactor });
    const outcome = await h.runtime.invoke({ tool: "mail", arguments: { to: "a-long-secret-value" } }, asker);
    expect(outcome).toMatchObject({ status: "denied", refusal: { code: "secret_in_arguments" } });
    expect(await h.runtime.approvals.list()).toEqual([]);
    expect(JSON.stringify(await h.runtime.audit.query({}))).not.toContain("a-long-secret-value");
  });
});

describe("artifacts in arguments", () => {
  it('argument {"$artifact": ref} / tool gets the bytes, not the object (case 182)', async () => {
    const ran: unknown[] = [];
    await using h = await runtimeFixture({ autonomy: "A4" }, posting(ran));
    const { digest } = await h.runtime.artifacts.put(
      new TextEncoder().encode("the bytes"),
      "text/plain",
      asker.principal,
    );
    expect((await h.runtime.invoke({ tool: "post", arguments: { body: { $artifact: digest } } }, asker)).status).toBe(
      "ok",
    );
    expect(ran).toEqual([{ body: "the bytes" }]);
  });

  it("unknown ref / refused artifact_unavailable before anybody is asked, tool not run (case 183)", async () => {
    const ran: unknown[] = [];
    await using h = await runtimeFixture({}, posting(ran));
    for (const digest of ["0".repeat(64), "", "../../etc/passwd", "__proto__"]) {
      expect(
        (await h.runtime.invoke({ tool: "post", arguments: { body: { $artifact: digest } } }, asker)).refusal?.code,
      ).toBe("artifact_unavailable");
    }
    expect(await h.runtime.approvals.list()).toEqual([]);
    expect(ran).toEqual([]);
  });
});

describe("trace, hooks and log", () => {
  it("two ok calls / trace / two records, tool names, ok, duration ≥ 0 (case 189)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, asker);
    await session.invoke(echo);
    await session.invoke(echo);
    expect(session.trace).toMatchObject([
      { tool: "echo", status: "ok" },
      { tool: "echo", status: "ok" },
    ]);
    for (const { durationMs } of session.trace) expect(durationMs).toBeGreaterThanOrEqual(0);
  });

  it("denied / trace denied; cancelled / still one record (case 191)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, { ...asker, patience: "deny" });
    await session.invoke({ tool: "mail", arguments: { to: "x" } });
    await session.invoke(echo, { signal: AbortSignal.abort(new Error("gone")) }).catch(() => {});
    expect(session.trace).toMatchObject([{ status: "denied" }, { tool: "echo" }]);
  });

  it("args_digest / same for reordered keys, differs for other values, 16 hex, arguments themselves absent (case 192)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, asker);
    for (const given of [
      { to: "secret-x", slow: false },
      { slow: false, to: "secret-x" },
      { to: "secret-y", slow: false },
    ])
      await session.invoke({ tool: "echo", arguments: given });
    const [one, other, third] = session.trace.map(({ argumentsDigest }) => argumentsDigest);
    expect(one).toMatch(/^[0-9a-f]{16}$/);
    expect(other).toBe(one);
    expect(third).not.toBe(one);
    expect(JSON.stringify(session.trace)).not.toContain("secret");
  });

  it("tool throws / TOOL_END still fires (case 194)", async () => {
    const told: string[] = [];
    await using h = await runtimeFixture(
      {
        hooks: {
          toolStart: ({ toolName }) => void told.push(`start ${toolName}`),
          toolEnd: ({ toolName, status }) => void told.push(`end ${toolName} ${status}`),
        },
      },
      probe({
        execute: () => {
          throw new Error("no");
        },
      }),
    );
    await h.runtime.invoke({ tool: "probe" }, asker);
    expect(told).toEqual(["start probe", "end probe error"]);
  });

  it("audit write fails / operation fails, tool not run when it failed before the attempt (case 198)", async () => {
    const clock = new FakeClock();
    const failing: Failing = new Map([["claim", 1]]);
    await using h = await runtimeFixture({ clock, store: new FaultyStore(clock, failing) });
    expect(await h.runtime.invoke(echo, asker)).toMatchObject({
      status: "error",
      refusal: { code: "audit_unavailable", retry: "later" },
    });
    expect(h.ran).toEqual([]);
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
  });

  it("audit log / update or delete through any API / impossible (case 199)", async () => {
    await using h = await runtimeFixture();
    await h.runtime.invoke(echo, asker);
    const { audit } = h.runtime;
    const verbs = new Set<string>();
    for (
      let object: object | null = audit;
      object !== null && object !== Object.prototype;
      object = Object.getPrototypeOf(object) as object | null
    )
      for (const name of Object.getOwnPropertyNames(object)) verbs.add(name);
    for (const verb of verbs) expect(verb).not.toMatch(/update|delete|remove|clear|set|write|truncate|drop/i);
    const before = await audit.query({});
    for (const event of await audit.query({})) Reflect.set(event, "type", "evil");
    expect(await audit.query({})).toEqual(before);
  });

  it("every audit event / trace_id non-null (case 200)", async () => {
    await using h = await runtimeFixture();
    await h.runtime.invoke(echo, asker);
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, asker);
    await h.runtime.approvals.decide(approvalId, { decision: "denied", by: boss });
    await h.runtime.invoke({ tool: "none" });
    await h.runtime.controls.pause(actor("operator"));
    await h.runtime.note("mcp.connected", "a server came");
    const events = await h.runtime.audit.query({});
    expect(events.length).toBeGreaterThanOrEqual(7);
    for (const event of events) expect(event.trace_id).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("tools of the runtime", () => {
  it("a locked registry / addTool / false, not registered (case 268)", async () => {
    await using h = await runtimeFixture();
    h.runtime.tools.lock();
    expect(h.runtime.tools.tryRegister({ ...probe()[0] } as never)).toBe(false);
    expect((await h.runtime.invoke({ tool: "probe" }, asker)).refusal?.code).toBe("tool_unknown");
  });

  it("all of the above run without any model: nothing that is installed with the package talks to one (case 270)", async () => {
    const { default: manifest } = await import("../../package.json", { with: { type: "json" } });
    for (const name of Object.keys(manifest.dependencies))
      expect(name).not.toMatch(/openai|anthropic|google|mistral|ollama|^ai$|@ai-sdk|langchain/);
    await using h = await runtimeFixture();
    expect((await h.runtime.invoke(echo)).status).toBe("ok");
  });
});
