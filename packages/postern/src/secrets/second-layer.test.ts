import type { JsonObject } from "@postern/core";
import { describe, expect, it, vi } from "vitest";
import { actor } from "../../../../test/fakes/actors.ts";
import { runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { AuditEvent } from "../audit/log.ts";
import type { Runtime, RuntimeOptions, ToolContext } from "../index.ts";
import { redactJson } from "./redact-json.ts";
import { createRedactor } from "./redactor.ts";

/** Never lent by anybody, and looks like one. */
const token = `${"ghp"}_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8`;
const masked = "[possible secret: github token]";
const said = { type: "object", properties: { text: { type: "string" }, data: {} } } as const;

async function leaky(options: RuntimeOptions = {}): ReturnType<typeof runtimeFixture> {
  return runtimeFixture(options, [
    {
      name: "tell",
      description: "Tells it.",
      risk: "safe",
      effects: "read",
      idempotent: true,
      input: said,
      execute: async (given: unknown, context: ToolContext) => {
        const { text, data } = given as { readonly text?: string; readonly data?: JsonObject }; // the schema says so
        context.emit("tell.told", `telling ${text}`, { data: data ?? null });
        return data === undefined ? String(text) : { structured: data };
      },
    },
  ]);
}

const patient = { timeout: 50_000, interval: 10 };

/** Waits for what is recorded beside the calls. */
function noted(runtime: Runtime, type: string, count = 1): Promise<readonly AuditEvent[]> {
  return vi.waitFor(async () => {
    const events = await runtime.audit.query({ type });
    expect(events).toHaveLength(count);
    return events;
  }, patient);
}

const options = { secretPatterns: "mask" } as const;

describe("a result that may hold a secret", () => {
  it("goes back as it is, and is recorded without the value (mark, which is the default)", async () => {
    await using made = await leaky();
    const outcome = await made.runtime.invoke({ tool: "tell", arguments: { text: `it is ${token}` } });
    expect(outcome.text).toBe(`it is ${token}`);
    const [event] = await noted(made.runtime, "secret.suspected");
    expect(event).toMatchObject({
      outcome: "info",
      tenant: "default",
      summary: "The result of `tell` may hold secrets (github token).",
      data: { call: outcome.callId, tool: "tell", kinds: { "github token": 1 }, masked: false },
    });
    expect(JSON.stringify(event)).not.toContain(token);
  });

  it("is masked, in texts and in JSON, and recorded (mask)", async () => {
    await using made = await leaky(options);
    const text = await made.runtime.invoke({ tool: "tell", arguments: { text: `it is ${token}, twice ${token}` } });
    expect(text.text).toBe(`it is ${masked}, twice ${masked}`);
    expect((await noted(made.runtime, "secret.suspected"))[0]).toMatchObject({
      summary: `The result of \`tell\` may hold secrets (2 × github token); they were masked.`,
    });
    const url = `${"mongodb"}://robot:s3cretpassword@db.example.org/x?y=1`;
    const json = await made.runtime.invoke({ tool: "tell", arguments: { data: { [token]: [url, 1], last: true } } });
    expect(json.structured).toEqual({ [masked]: ["[possible secret: mongo db connection]", 1], last: true });
  });

  it("is named at the head of a result that was stored as an artifact", async () => {
    await using made = await leaky({ limits: { maxInlineResultBytes: 100 } });
    const text = `${token} ${"and more ".repeat(3_000)}`;
    const outcome = await made.runtime.invoke({ tool: "tell", arguments: { text } });
    expect(outcome.artifact).toBeDefined();
    expect((await noted(made.runtime, "secret.suspected"))[0]).toMatchObject({
      data: { kinds: { "github token": 1 } },
    });
  });

  it("is not looked for (off)", async () => {
    await using made = await leaky({ secretPatterns: "off" });
    const outcome = await made.runtime.invoke({ tool: token, arguments: {} });
    await made.runtime.invoke({ tool: "tell", arguments: { text: token } });
    expect(outcome.refusal?.code).toBe("tool_unknown");
    const written = await made.runtime.audit.query({});
    expect(JSON.stringify(written)).toContain(token);
    expect(written.filter(({ type }) => /secret/.test(type))).toEqual([]);
  });

  it("is recorded before the runtime closes", async () => {
    const clock = new FakeClock();
    const seen: string[] = [];
    const made = await leaky({ clock });
    made.runtime.watch((event) => {
      if (event.moment === "noted") seen.push(event.type);
    });
    for (let i = 0; i < 50; i += 1) await made.runtime.invoke({ tool: "tell", arguments: { text: `${i} ${token}` } });
    await made.runtime.close();
    expect(seen.filter((type) => type === "secret.suspected")).toHaveLength(50);
  });
});

describe("a secret in what the log keeps", () => {
  it("is masked before the first write and raises one critical alarm, and another when that is over", async () => {
    await using made = await leaky();
    for (let i = 0; i < 3; i += 1) await made.runtime.invoke({ tool: token, arguments: { i } });
    const alarms = await noted(made.runtime, "alarm.secret_in_payload");
    expect(alarms).toMatchObject([
      { outcome: "failure", data: { severity: "critical", kinds: ["github token"], moment: "ended" } },
    ]);
    await made.clock.advance(3_600_001);
    await made.runtime.invoke({ tool: token, arguments: {} });
    const [open] = await vi.waitFor(() => {
      const list = made.runtime.alarms.list({ state: "open" });
      expect(list).toMatchObject([{ kind: "secret_in_payload", count: 2 }]);
      return list;
    }, patient);
    await made.runtime.alarms.resolve(open?.id ?? "", actor("ann"), "rotated");
    await made.clock.advance(3_600_001);
    await made.runtime.invoke({ tool: token, arguments: {} });
    await noted(made.runtime, "alarm.secret_in_payload", 2);
    const written = JSON.stringify(await made.runtime.audit.query({}));
    expect(written).not.toContain(token);
    expect(written).toContain(masked);
  });

  it("raises it for a known secret too", async () => {
    const redactor = createRedactor();
    redactor.learn("hunter2hunter2");
    const rules = [{ effect: "allow", tool: "tell", id: "hunter2hunter2" }] as const;
    await using made = await leaky({ redactor, policy: { rules } });
    const call = (): Promise<unknown> => made.runtime.invoke({ tool: "tell", arguments: { text: "x" } });
    await call();
    const alarms = await noted(made.runtime, "alarm.secret_in_payload");
    expect(alarms).toMatchObject([{ data: { kinds: ["known secret"], moment: "attempted" } }]); // only it tells reasons
  });

  it("is masked in the log", async () => {
    const lines: string[] = [];
    await using made = await leaky({ log: (line) => lines.push(line) });
    made.runtime.watch(() => {
      throw new Error(`no ${token}`);
    });
    await made.runtime.invoke({ tool: "tell", arguments: { text: "x" } });
    expect(lines.join("\n")).toContain(masked);
    expect(lines.join("\n")).not.toContain(token);
  });
});

it("masks a value that reaches over the parts of what a tool announces, and the call goes on", async () => {
  const redactor = createRedactor();
  redactor.learn('x","last');
  expect(redactJson({ first: "x", last: "y" }, redactor)).toEqual({ first: "x", last: "y" });
  redactor.learn("hunter2hunter2");
  expect(redactJson({ hunter2hunter2: ["a hunter2hunter2"], first: "x", last: 1 }, redactor)).toEqual({
    "[redacted]": ["a [redacted]"],
    first: "x",
    last: 1,
  });
});
