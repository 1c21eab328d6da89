import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, type Runtime } from "../../packages/postern/src/index.ts";

interface Busy {
  readonly url: string;
  /** The number of requests that the server got. */
  readonly asked: () => number;
  readonly free: () => void;
  readonly busy: () => void;
}

/** A server of 2025-11-25 that answers every request with this status until `free` is called. */
async function busyServer(status: number, retryAfter: string): Promise<Busy> {
  let isBusy = true;
  let asked = 0;
  const server = createServer(async (request, response) => {
    asked += 1;
    if (isBusy) return void response.writeHead(status, { "retry-after": retryAfter }).end();
    let text = "";
    for await (const piece of request) text += String(piece);
    const { id, method } = text === "" ? {} : JSON.parse(text);
    if (id === undefined) return void response.writeHead(request.method === "GET" ? 405 : 202).end();
    const serverInfo = { name: "busy", version: "1" };
    const result =
      method === "initialize"
        ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo }
        : { tools: [{ name: "tell", inputSchema: { type: "object" } }] };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const free = (): void => {
    isBusy = false;
  };
  const busy = (): void => {
    isBusy = true;
  };
  return { url: `http://127.0.0.1:${port}/mcp`, asked: () => asked, free, busy };
}

async function running(url: string, clock: FakeClock): Promise<Runtime> {
  const runtime = await createRuntime({ clock, servers: { busy: { url, risk: "safe" } } });
  onTestFinished(() => runtime.close(0));
  return runtime;
}
const serverOf = (runtime: Runtime) => runtime.health().servers[0];

it.each([
  [503, "120", 120_000],
  [429, "120", 120_000],
  [503, "86400", 3_600_000],
])("a server that answers %i with Retry-After %s is asked again after %i ms", async (status, retryAfter, ms) => {
  const clock = new FakeClock();
  const server = await busyServer(status, retryAfter);
  const runtime = await running(server.url, clock);
  const until = new Date(clock.now() + Number(retryAfter) * 1_000).toISOString();
  expect(serverOf(runtime)).toMatchObject({
    ...{ status: "disconnected", problem: expect.stringContaining(`the server asks to wait until ${until}`) },
  });
  server.free();
  const before = server.asked();
  await clock.advance(ms - 1_000);
  expect(server.asked()).toBe(before);
  await clock.advance(1_000);
  await expect.poll(() => serverOf(runtime)?.status).toBe("connected");
  expect(serverOf(runtime)?.problem).toBeUndefined();
});

it("a call of a server that asks to wait says until when", async () => {
  const clock = new FakeClock();
  const server = await busyServer(503, "120");
  server.free();
  const runtime = await running(server.url, clock);
  expect(serverOf(runtime)?.status).toBe("connected");
  server.busy();
  await clock.advance(20_000); // a ping
  await expect.poll(() => serverOf(runtime)?.status).toBe("disconnected");
  const { text } = await runtime.invoke({ tool: "busy__tell", arguments: {} });
  expect(text).toContain("the server asks to wait until");
});

it("a date in the past delays nothing", async () => {
  const clock = new FakeClock();
  const server = await busyServer(503, "Thu, 01 Jan 1970 00:00:00 GMT");
  const runtime = await running(server.url, clock);
  expect(serverOf(runtime)?.problem).not.toContain("asks to wait");
  server.free();
  await clock.advance(1_000);
  await expect.poll(() => serverOf(runtime)?.status).toBe("connected");
});
