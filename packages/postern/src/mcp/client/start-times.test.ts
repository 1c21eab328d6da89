import { expect, it, onTestFinished } from "vitest";
import { rawHttp } from "../../../../../test/fakes/raw-http.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { createRuntime, type Runtime, type RuntimeOptions, type ServerConfig } from "../../index.ts";

const raw = (options: object): ServerConfig => ({
  ...{ command: process.execPath, args: ["test/fakes/raw-server.ts", JSON.stringify(options)], risk: "safe" },
});

/** Advances the clock to the end of the wait for servers, after all that is to happen before has happened. */
async function created(options: RuntimeOptions, clock: FakeClock, before: () => Promise<unknown>): Promise<Runtime> {
  const creating = createRuntime({ ...options, serverWaitMs: 2_000, clock });
  await before();
  await clock.advance(2_000);
  const runtime = await creating;
  onTestFinished(() => runtime.close(0));
  return runtime;
}

const appears = (runtime: Runtime, tool: string): Promise<void> =>
  new Promise((resolve) => {
    runtime.tools.follow(({ name }) => name === tool && resolve());
    if (runtime.tools.has(tool)) resolve();
  });

it("a slow server delays nobody: the others' tools are there, and its own come when it is", async () => {
  const slow = Promise.withResolvers<boolean>();
  const listed = Promise.withResolvers<void>();
  const late = await rawHttp(({ method }) => (method === "initialize" ? slow.promise : false));
  const quick = await rawHttp(({ method }) => {
    if (method === "tools/list") listed.resolve();
    return false;
  });
  const of = { revision: "2025-11-25", risk: "safe" } as const;
  const servers = { slow: { url: late.url, ...of }, quick: { url: quick.url, ...of } };
  const runtime = await created({ servers }, new FakeClock(), () => listed.promise);
  await appears(runtime, "quick__t");
  expect(runtime.health().servers).toMatchObject([{ status: "connecting" }, { status: "connected" }]);
  slow.resolve(false);
  await appears(runtime, "slow__t");
});

it("a tool of a server that was never connected is unavailable, with the reason; it is not unknown", async () => {
  const asked = Promise.withResolvers<void>();
  const { url } = await rawHttp(() => {
    asked.resolve();
    return true;
  });
  const clock = new FakeClock();
  const servers = {
    gone: { command: "no-such-program" },
    slow: { url, revision: "2025-11-25", risk: "safe", startTimeoutMs: 3_000 },
  } as const;
  const runtime = await created({ servers }, clock, () => asked.promise);
  const of = async (tool: string) => (await runtime.invoke({ tool })).refusal;
  expect(await of("gone__search")).toMatchObject({
    code: "tool_unavailable",
    retry: "later",
    message: expect.stringContaining(
      "`no-such-program` is not to be found on the path: correct `servers.gone.command`",
    ),
  });
  const ofSlow = of("slow__search");
  await clock.advance(1_000);
  expect(await ofSlow).toMatchObject({
    code: "tool_unavailable",
    message: expect.stringContaining("the server `slow` is not connected"),
  });
  expect(await of("other__search")).toMatchObject({ code: "tool_unknown" });
});

it("a call waits for its server's first attempt, and fails fast after it", async () => {
  const slow = Promise.withResolvers<boolean>();
  const { url } = await rawHttp(({ method }) => (method === "initialize" ? slow.promise : false));
  const servers = { one: { url, revision: "2025-11-25", risk: "safe" } } as const;
  const runtime = await createRuntime({ servers, serverWaitMs: 1 });
  onTestFinished(() => runtime.close(0));
  const waiting = runtime.invoke({ tool: "one__t" });
  const cancel = new AbortController();
  const left = runtime.invoke({ tool: "one__t" }, { signal: cancel.signal });
  cancel.abort(new Error("enough"));
  await expect(left).rejects.toThrow("enough");
  slow.resolve(false);
  expect(await waiting).toMatchObject({ status: "ok", text: "done" });
});

it("a call waits no longer than the server may take to start", async () => {
  const { url } = await rawHttp(() => true);
  const clock = new FakeClock();
  const servers = { one: { url, revision: "2025-11-25", risk: "safe", startTimeoutMs: 5_000 } } as const;
  const creating = createRuntime({ servers, serverWaitMs: 1, clock });
  await clock.advance(1);
  const runtime = await creating;
  onTestFinished(() => runtime.close(0));
  let isOver = false;
  const call = runtime.invoke({ tool: "one__t" }).finally(() => {
    isOver = true;
  });
  await clock.advance(4_900);
  expect(isOver).toBe(false);
  await clock.advance(200);
  expect(await call).toMatchObject({ refusal: { code: "tool_unavailable" } });
  expect(await runtime.invoke({ tool: "one__t" })).toMatchObject({ refusal: { code: "tool_unavailable" } });
});

it("a name that a connected server does not list is unknown", async () => {
  const runtime = await createRuntime({ servers: { one: raw({}) } });
  onTestFinished(() => runtime.close(0));
  expect((await runtime.invoke({ tool: "one__nothing" })).refusal).toMatchObject({ code: "tool_unknown" });
});

it.each([
  ["over pipes", () => raw({ startAfterMs: 60_000 })],
  ["over HTTP", async () => ({ url: (await rawHttp(() => true)).url })],
])("a server that takes too long to start is told with the key that gives it more time: %s", async (_how, server) => {
  const runtime = await createRuntime({ servers: { heavy: { ...(await server()), startTimeoutMs: 500 } } });
  onTestFinished(() => runtime.close(0));
  expect(runtime.health().servers[0]?.problem).toContain(
    "It did not start within 500 ms. Give a server that needs longer more time with `servers.heavy.start_timeout_ms`.",
  );
});

it("a server is given as long as its configuration says", async () => {
  const slow = Promise.withResolvers<boolean>();
  const asked = Promise.withResolvers<void>();
  const { url } = await rawHttp(({ method }) => {
    asked.resolve();
    return method === "initialize" ? slow.promise : false;
  });
  const clock = new FakeClock();
  const servers = { one: { url, revision: "2025-11-25", risk: "safe", startTimeoutMs: 60_000 } } as const;
  const runtime = await created({ servers }, clock, () => asked.promise);
  await clock.advance(57_000);
  expect(runtime.health().servers).toMatchObject([{ status: "connecting" }]);
  slow.resolve(false);
  await appears(runtime, "one__t");
});
