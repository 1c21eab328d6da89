import { afterEach, expect, it } from "vitest";
import { httpFixture } from "../../../../test/fakes/http-fixture.ts";
import { runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { Limits } from "../call/session.ts";
import { createRuntime, directLimits, type Runtime } from "../index.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A tool that answers with text of any length, and one that never ends, behind the HTTP server. */
async function served(limits: Partial<Limits>) {
  const clock = new FakeClock();
  const plain = { description: "A tool.", risk: "safe", effects: "read", idempotent: true } as const;
  const {
    runtime,
    ran: _,
    ...own
  } = await runtimeFixture({ limits, clock }, [
    {
      ...plain,
      name: "text",
      input: { type: "object" },
      execute: (given) => "x".repeat(Number(Reflect.get(Object(given), "length"))),
    },
    { ...plain, name: "endless", execute: () => new Promise(() => {}) },
  ]);
  const http = await httpFixture(runtime, { clock });
  cleanups.push(
    () => own[Symbol.asyncDispose](),
    () => http[Symbol.asyncDispose](),
    () => http.server.close(),
  );
  const call = async (tool: string, args: object = {}): Promise<{ readonly text: string }> => {
    const response = await http.ask("/v1/calls", { as: "agent", body: { tool, arguments: args } });
    return (await response.json()) as { readonly text: string }; // an outcome
  };
  return { runtime, clock, call };
}

it.each([300_000, 5_000, 100])("a server answers inline up to the operator's limit of %i bytes", async (limit) => {
  const { call } = await served({ maxInlineResultBytes: limit });
  expect(await call("text", { length: limit })).toMatchObject({ status: "ok", text: "x".repeat(limit) });
  const { text } = await call("text", { length: limit + 1 });
  expect(text).toMatch(
    new RegExp(`^x{${limit - 3}}…\\n\\n\\[Cut: the first ${limit - 3} of ${limit + 1} bytes are shown\\. To read on, `),
  );
});

it("a server lets a call run as long as the operator allows, also beyond the usual hour", async () => {
  const { call, clock } = await served({ callTimeoutMs: 2 * 3_600_000 });
  let answer: { readonly text?: string } | undefined;
  const calling = call("endless").then((came) => {
    answer = came;
  });
  await clock.advance(2 * 3_600_000 - 1);
  expect(answer).toBeUndefined();
  await clock.advance(1);
  await calling;
  expect(answer?.text).toContain("timed out");
});

it("each limit of the operator is that of the sessions that a server opens", async () => {
  const wide: Limits = {
    maxToolCalls: 50_000,
    callTimeoutMs: 900_000,
    approvalWaitMs: 800_000,
    totalTimeoutMs: 9_000_000,
    maxInlineResultBytes: 1_000_000,
  };
  const { runtime, call } = await served(wide);
  const opened: Limits[] = [];
  const open: Runtime["openSession"] = runtime.openSession.bind(runtime);
  Object.assign(runtime, {
    openSession: (...asked: Parameters<Runtime["openSession"]>) => {
      const session = open(...asked);
      opened.push(session.limits);
      return session;
    },
  });
  await call("text", { length: 1 });
  expect(opened).toEqual([wide]);
});

it("a library's own limits stay the usual ones, and its sessions can only be narrower", async () => {
  await using runtime = await createRuntime();
  expect(runtime.openSession().limits).toEqual(directLimits);
  expect(runtime.openSession({ maxInlineResultBytes: 1_000_000 }).limits.maxInlineResultBytes).toBe(4096);
});
