import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../../test/fakes/clock.ts";
import { rawHttp } from "../../../test/fakes/raw-http.ts";
import { createRuntime, type ServerConfig } from "../../index.ts";

const raw = (options: object): ServerConfig => ({
  ...{ command: process.execPath, args: ["test/fakes/raw-server.ts", JSON.stringify(options)], risk: "safe" },
});

it("a slow server delays no other: their tools are there, and its own come later", async () => {
  const slow = Promise.withResolvers<boolean>();
  const { url } = await rawHttp(({ method }) => (method === "initialize" ? slow.promise : false));
  const before = performance.now();
  const servers = { slow: { url, revision: "2025-11-25", risk: "safe" }, quick: raw({}) } as const;
  const runtime = await createRuntime({ servers, serverWaitMs: 2_000 });
  onTestFinished(() => runtime.close(0));
  expect(performance.now() - before).toBeLessThan(8_000);
  const appeared = Promise.withResolvers<void>();
  runtime.tools.follow(({ name }) => name === "slow__t" && appeared.resolve());
  expect(runtime.health().servers).toMatchObject([{ status: "connecting" }, {}]);
  slow.resolve(false);
  await appeared.promise;
  expect(runtime.tools.has("slow__t")).toBe(true);
});

it("a tool of a server that was never connected is unavailable, with the reason; it is not unknown", async () => {
  const servers = {
    gone: { command: "no-such-program" },
    slow: { ...raw({ startAfterMs: 60_000 }), startTimeoutMs: 1_000 },
  } as const;
  const runtime = await createRuntime({ servers, serverWaitMs: 100 });
  onTestFinished(() => runtime.close(0));
  const of = async (tool: string) => (await runtime.invoke({ tool })).refusal;
  expect(await of("gone__search")).toMatchObject({
    code: "tool_unavailable",
    retry: "later",
    message: expect.stringContaining(
      "`no-such-program` is not to be found on the path: correct `servers.gone.command`",
    ),
  });
  expect(await of("slow__search")).toMatchObject({
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

it("a server has as much time as its configuration says", async () => {
  const runtime = await createRuntime({
    servers: { one: { ...raw({ startAfterMs: 1_500 }), startTimeoutMs: 20_000 } },
  });
  onTestFinished(() => runtime.close(0));
  expect(runtime.health().servers).toMatchObject([{ status: "connected" }]);
});
