import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { actor } from "../fakes/actors.ts";
import { type Failing, FaultyStore } from "../fakes/faulty-store.ts";
import { posting, probe } from "../fakes/probe.ts";
import { asker, boss, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } } as const;

describe("a started call", () => {
  it("is recorded after a short store failure; its effect is not repeated or reported failed (case 166)", async () => {
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

  it("has its attempted event before the tool's own effect (case 167)", async () => {
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

  it("is refused with secret_in_arguments before it asks if its arguments hold a lent secret (case 168)", async () => {
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
  it('reach the tool as bytes instead of the {"$artifact": ref} object (case 182)', async () => {
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

  it("are refused with artifact_unavailable before it asks if the reference is unknown (case 183)", async () => {
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
  it("two ok calls have two trace records: names, ok, duration ≥ 0 (case 189)", async () => {
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

  it("a denied call has a trace record, and a cancelled call has exactly one (case 191)", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, { ...asker, patience: "deny" });
    await session.invoke({ tool: "mail", arguments: { to: "x" } });
    await session.invoke(echo, { signal: AbortSignal.abort(new Error("gone")) }).catch(() => {});
    expect(session.trace).toMatchObject([{ status: "denied" }, { tool: "echo" }]);
  });

  it("args_digest is equal for reordered keys: 16 hex, without the arguments (case 192)", async () => {
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

  it("TOOL_END fires when the tool throws (case 194)", async () => {
    const messages: string[] = [];
    await using h = await runtimeFixture(
      {
        hooks: {
          toolStart: ({ toolName }) => void messages.push(`start ${toolName}`),
          toolEnd: ({ toolName, status }) => void messages.push(`end ${toolName} ${status}`),
        },
      },
      probe({
        execute: () => {
          throw new Error("no");
        },
      }),
    );
    await h.runtime.invoke({ tool: "probe" }, asker);
    expect(messages).toEqual(["start probe", "end probe error"]);
  });

  it("a failed audit write fails the call; the tool does not run if it failed first (case 198)", async () => {
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

  it("no API can update or delete an entry of the audit log (case 199)", async () => {
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

  it("every audit event has a trace_id (case 200)", async () => {
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
  it("cannot be added to a locked registry: addTool returns false (case 268)", async () => {
    await using h = await runtimeFixture();
    h.runtime.tools.lock();
    expect(h.runtime.tools.tryRegister({ ...probe()[0] } as never)).toBe(false);
    expect((await h.runtime.invoke({ tool: "probe" }, asker)).refusal?.code).toBe("tool_unknown");
  });

  it("work without any model: no installed package talks to one (case 270)", async () => {
    const { default: manifest } = await import("../../packages/postern/package.json", { with: { type: "json" } });
    for (const name of Object.keys(manifest.dependencies))
      expect(name).not.toMatch(/openai|anthropic|google|mistral|ollama|^ai$|@ai-sdk|langchain/);
    await using h = await runtimeFixture();
    expect((await h.runtime.invoke(echo)).status).toBe("ok");
  });
});
