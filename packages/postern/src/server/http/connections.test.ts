import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { PosternClient } from "@postern/core/contract";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { createClient } from "../client/client.ts";
import { loopbackHosts } from "./own-hosts.ts";
import { type ConnectionLimits, type Listening, listen } from "./serve.ts";

const limits: ConnectionLimits = { headersMs: 300, requestMs: 600, stalledMs: 400, checkEveryMs: 50, perAddress: 1000 };

let http: HttpFixture;
let listening: Listening;
let agent: PosternClient;

async function serve(more: Partial<ConnectionLimits> = {}, runtime: Runtime = stubRuntime().runtime): Promise<void> {
  http = await httpFixture(runtime, { hosts: () => loopbackHosts(listening.port) });
  listening = await listen({ handler: http.server, port: 0, limits: { ...limits, ...more } });
  agent = createClient({ url: listening.url, token: http.tokens.agent });
}
async function stop(): Promise<void> {
  await listening.close(100);
  await http[Symbol.asyncDispose]();
}
beforeEach(() => serve());
afterEach(stop);

/** The server's ends of all connections; diagnostics, because a client cannot see whether the other end still exists. */
const accepted: Socket[] = [];
const collect = (message: unknown): void => void accepted.push((message as { readonly socket: Socket }).socket);
beforeEach(() => subscribe("net.server.socket", collect));
afterEach(() => {
  unsubscribe("net.server.socket", collect);
  accepted.length = 0;
});

function stillOpen(): number {
  return accepted.filter(({ destroyed }) => !destroyed).length;
}

interface Held {
  readonly socket: Socket;
  answer(): string;
}

/** A client that sends something and never closes its own end, whatever the server does. */
async function hold(text: string, reads = true): Promise<Held> {
  const socket = connect({ port: listening.port, host: "127.0.0.1", allowHalfOpen: true });
  let answer = "";
  if (reads)
    socket.on("data", (bytes) => {
      answer += bytes.toString();
    });
  socket.on("error", () => undefined); // the server may reset it
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(text);
  return { socket, answer: () => answer };
}

function head(...lines: readonly string[]): string {
  return ["POST /v1/calls HTTP/1.1", `Host: 127.0.0.1:${listening.port}`, ...lines].join("\r\n");
}

const unfinished: Readonly<Record<string, () => string>> = {
  "nothing at all": () => "",
  "half a request line": () => "GET /healthz",
  "half of the headers": () => head("X-A: b"),
  "half of a body with a length": () =>
    `${head(`Authorization: Bearer ${http.tokens.agent}`, "Content-Type: application/json", "Content-Length: 100")}\r\n\r\n{"tool":`,
  "half of a chunked body": () =>
    `${head(`Authorization: Bearer ${http.tokens.agent}`, "Content-Type: application/json", "Transfer-Encoding: chunked")}\r\n\r\n8\r\n{"tool":`,
  "a promise of a body": () =>
    `${head(`Authorization: Bearer ${http.tokens.agent}`, "Expect: 100-continue", "Content-Length: 9")}\r\n\r\n`,
  "half of a second request": () =>
    `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${listening.port}\r\n\r\nGET /healthz HTTP/1.1\r\nHo`,
  "no HTTP": () => "\u0016\u0003\u0001\u0002 hello\r\n\r\n",
};

function request(path: string, as: "agent" | "operator"): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${listening.port}\r\nAuthorization: Bearer ${http.tokens[as]}\r\n\r\n`;
}

describe("connections that never send a whole request", () => {
  it("closes 300 of them after the time limit and serves good clients meanwhile", async () => {
    const kinds = Object.values(unfinished);
    const held = await Promise.all(Array.from({ length: 300 }, (_, i) => hold(kinds[i % kinds.length]?.() ?? "")));
    for (let i = 0; i < 10; i += 1) expect((await agent.calls.call({ tool: "echo" })).status).toBe("ok");
    expect(accepted.length).toBeGreaterThan(held.length);
    await expect.poll(() => accepted.slice(0, 300).filter(({ destroyed }) => !destroyed).length).toBe(0);
    expect((await agent.calls.call({ tool: "echo" })).status).toBe("ok");
  });

  it.each(Object.keys(unfinished))("answers and closes a connection that sent %s", async (kind) => {
    const { answer } = await hold(unfinished[kind]?.() ?? "");
    await expect.poll(answer).toMatch(/HTTP\/1\.1 4\d\d /);
    await expect.poll(stillOpen).toBe(0);
  });
});

it("closes a connection whose client stops reading a long answer", async () => {
  await stop();
  async function* endless(): AsyncGenerator<string> {
    for (;;) yield "x".repeat(64 * 1024);
  }
  const { runtime } = stubRuntime();
  await serve({}, { ...runtime, audit: { ...runtime.audit, export: endless } });
  await hold(request("/v1/audit/export", "operator"), false);
  await expect.poll(() => accepted.length).toBe(1);
  await expect.poll(stillOpen).toBe(0);
});

it("keeps a connection on which a call waits for longer than any limit", async () => {
  await stop();
  const called = Promise.withResolvers<void>();
  const waited = Promise.withResolvers<void>();
  const { runtime } = stubRuntime();
  const invoke: Runtime["invoke"] = async (request, context) => {
    called.resolve();
    await waited.promise;
    return runtime.invoke(request, context);
  };
  await serve({}, { ...runtime, invoke });
  const calling = agent.calls.call({ tool: "echo" });
  await called.promise;
  await hold(""); // it is over time when everything that began before it is, too
  await expect.poll(() => accepted.at(-1)?.destroyed).toBe(true);
  waited.resolve();
  expect((await calling).status).toBe("ok");
});

describe("the limit of connections from one address", () => {
  it("refuses more of them and takes new ones when others have closed", async () => {
    await stop();
    await serve({ perAddress: 5, headersMs: 60_000, requestMs: 60_000 });
    const held = await Promise.all(Array.from({ length: 5 }, () => hold("")));
    await expect.poll(() => accepted.length).toBe(5);
    const { answer } = await hold("");
    await expect.poll(answer).toMatch(/HTTP\/1\.1 503 .*too_many_connections.*max_connections_per_address/s);
    await expect.poll(() => accepted.at(5)?.destroyed).toBe(true);
    for (const { socket } of held) socket.destroy();
    await expect.poll(stillOpen).toBe(0);
    expect((await agent.calls.call({ tool: "echo" })).status).toBe("ok");
  });
});
