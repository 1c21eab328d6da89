import { afterEach, describe, expect, it } from "vitest";
import { actor } from "../../../../../test/fakes/actors.ts";
import { type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import type { Runtime, RuntimeOptions } from "../../index.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function opened(options: RuntimeOptions = {}): Promise<HttpFixture & { runtime: Runtime; clock: FakeClock }> {
  const clock = new FakeClock();
  const {
    runtime,
    ran: _,
    ...own
  } = await runtimeFixture({ limits: { maxToolCalls: 3 }, ...options, clock }, [
    {
      name: "inbox",
      description: "Reads mail.",
      risk: "safe",
      effects: "read",
      idempotent: true,
      scopes: ["mail:read"],
      execute: () => "ok",
    },
  ]);
  const http = await httpFixture(runtime, { clock });
  cleanups.push(
    () => own[Symbol.asyncDispose](),
    () => http[Symbol.asyncDispose](),
    () => http.server.close(),
  );
  return { ...http, runtime, clock };
}

type Sent = Awaited<ReturnType<typeof opened>>;
let count = 0;
const call = async ({ ask }: Sent, more: object = {}, as: "agent" | "operator" = "agent"): Promise<number> => {
  count += 1;
  const { status } = await ask("/v1/calls", { as, body: { tool: "echo", arguments: { to: String(count) }, ...more } });
  return status;
};

describe("the budget of a run over HTTP", () => {
  it("is one for all its requests, whatever else they claim", async () => {
    const at = await opened();
    const claims = [{ trace_id: "a".repeat(32) }, { autonomy: "A3" }, { scopes: ["mail:read"] }, { task_id: "t" }];
    const statuses: number[] = [];
    for (const claim of claims) statuses.push(await call(at, { run_id: "nightly", ...claim }));
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  it("is one for all runs that an agent names, and its run of the day", async () => {
    const at = await opened();
    const statuses: number[] = [];
    for (const run of [{ run_id: "a" }, { run_id: "b" }, {}, { run_id: "c" }, { run_id: "d" }, {}])
      statuses.push(await call(at, run));
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
  });

  it("is each run's own for the operator's token", async () => {
    const at = await opened();
    for (const status of [200, 200, 200, 429]) expect(await call(at, { run_id: "nightly" }, "operator")).toBe(status);
    expect(await call(at, { run_id: "weekly" }, "operator")).toBe(200);
  });

  it("is one a day for those who name no run, and each principal has its own", async () => {
    const at = await opened();
    for (const status of [200, 200, 200, 429]) expect(await call(at)).toBe(status);
    expect(await call(at, {}, "operator")).toBe(200);
    await at.clock.advance(86_400_000);
    expect(await call(at)).toBe(200);
  });

  it("holds when the calls come at once", async () => {
    const at = await opened();
    const statuses = await Promise.all(Array.from({ length: 20 }, () => call(at, { run_id: "nightly" })));
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(17);
  });

  it("starts again after a quarter of an hour without a call", async () => {
    const at = await opened();
    for (const status of [200, 200, 200, 429]) expect(await call(at, { run_id: "nightly" })).toBe(status);
    await at.clock.advance(1_800_000);
    expect(await call(at, { run_id: "nightly" })).toBe(200);
  });
});

describe("what a request claims", () => {
  it("narrows its own call and no other: scopes, level, trace", async () => {
    const at = await opened({ autonomy: "A2", limits: {} });
    const inbox = { tool: "inbox", arguments: {} };
    expect(await call(at, inbox)).toBe(403);
    expect(await call(at, { ...inbox, scopes: ["mail:read"] })).toBe(200);
    expect(await call(at, { ...inbox, scopes: ["mail:send"] })).toBe(403);
    expect(await call(at, inbox)).toBe(403);
    expect(await call(at, { ...inbox, scopes: ["mail:read"] }, "operator")).toBe(200);
    expect(await call(at, { autonomy: "A0" })).toBe(200);
    expect(await call(at)).toBe(200);
    const events = await at.runtime.audit.query({ tool: "echo" });
    expect(events.map(({ type, autonomy_level }) => [type, autonomy_level])).toEqual([
      ["gate.preview", "A0"],
      ["tool_call.attempted", "A2"],
      ["tool_call.succeeded", "A2"],
    ]);
    expect(new Set(events.map(({ trace_id }) => trace_id)).size).toBe(2);
  });

  it("never exceeds the level that an operator sets meanwhile, and follows it up as well", async () => {
    const at = await opened({ autonomy: "A2", limits: {} });
    const level = async (): Promise<string | undefined> => {
      await call(at, { autonomy: "A3" });
      const events = await at.runtime.audit.query({ tool: "echo" });
      return events.at(-1)?.autonomy_level;
    };
    expect(await level()).toBe("A2");
    await at.runtime.controls.setAutonomy("A3", actor("ann"));
    expect(await level()).toBe("A3");
    await at.runtime.controls.setAutonomy("A1", actor("ann"));
    expect(await level()).toBe("A1");
  });

  it("cannot name another principal's run", async () => {
    const at = await opened();
    expect(await call(at, { run_id: "nightly" })).toBe(200);
    const foreign = await at.ask("/v1/calls", { as: "operator", body: { tool: "echo", run_id: "nightly" } });
    expect(foreign.status).toBe(403);
    expect(await foreign.json()).toMatchObject({ refusal: { code: "run_foreign" } });
  });
});
