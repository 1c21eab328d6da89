import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { refusal } from "@postern/core";
import type { PosternClient } from "@postern/core/contract";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { anOutcome, stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";
import type { CallContext, Runtime } from "../../runtime/api/api.ts";
import { createClient } from "../client/client.ts";
import { ClientProblem } from "../client/client-problem.ts";
import type { HttpServer } from "./http-server.ts";
import { loopbackHosts } from "./own-hosts.ts";
import { type Listening, listen } from "./serve.ts";

let http: HttpFixture;
let listening: Listening;
let agent: PosternClient;
let operator: PosternClient;

async function serve(runtime: Runtime): Promise<void> {
  http = await httpFixture(runtime, { hosts: () => loopbackHosts(listening.port) });
  listening = await listen({ handler: http.server, port: 0 });
  agent = createClient({ url: listening.url, token: http.tokens.agent });
  operator = createClient({ url: listening.url, token: http.tokens.operator });
}
async function stop(): Promise<void> {
  await listening.close(100);
  await http[Symbol.asyncDispose]();
}
beforeEach(() => serve(stubRuntime().runtime));
afterEach(stop);

/** A body sent piece by piece; resolves with what was answered, while the rest may still be on its way. */
function upload(totalBytes: number, withLength: boolean): Promise<{ status: number; sentBytes: number }> {
  const piece = Buffer.alloc(64 * 1024, "x");
  const keepAlive = new Agent({ keepAlive: true }); // as curl and fetch do; with `Connection: close` a client may be cut off first
  return new Promise((resolve, reject) => {
    let sentBytes = 0;
    const headers = {
      authorization: `Bearer ${http.tokens.agent}`,
      "content-type": "application/json",
      ...(withLength && { "content-length": String(totalBytes) }),
    };
    const sending = httpRequest(
      `${listening.url}/v1/calls`,
      { method: "POST", headers, agent: keepAlive },
      (response) => {
        response.resume();
        sending.destroy();
        keepAlive.destroy();
        resolve({ status: response.statusCode ?? 0, sentBytes });
      },
    );
    sending.on("error", reject);
    const send = (): void => {
      while (sentBytes < totalBytes && !sending.destroyed) {
        sentBytes += piece.length;
        if (!sending.write(piece)) return void sending.once("drain", send);
      }
      sending.end();
    };
    send();
  });
}

it.each([[true], [false]])(
  "refuses a body of 200 MB while it is being sent, in bounded memory (announced: %s)",
  async (withLength) => {
    const before = process.memoryUsage().rss;
    const { status, sentBytes } = await upload(200 * 1024 * 1024, withLength);
    expect(status).toBe(413);
    expect(sentBytes).toBeLessThan(100 * 1024 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    expect((await agent.health.show()).status).toBe("ok");
  },
);

it("takes a body just below the limit", async () => {
  const outcome = await agent.calls.call({
    tool: "echo",
    arguments: { it: "x".repeat(9 * 1024 * 1024) },
  });
  expect(outcome.status).toBe("ok");
});

it("aborts a call when its client hangs up", async () => {
  await stop();
  const called = Promise.withResolvers<CallContext | undefined>();
  const left = Promise.withResolvers<void>();
  const invoke: Runtime["invoke"] = (_, context) => {
    called.resolve(context);
    return new Promise((__, reject) => {
      context?.signal?.addEventListener("abort", () => {
        left.resolve();
        reject(context.signal?.reason);
      });
    });
  };
  await serve({ ...stubRuntime().runtime, invoke });
  const hangUp = new AbortController();
  const calling = agent.calls.call({ tool: "echo" }, hangUp.signal);
  expect((await called.promise)?.signal?.aborted).toBe(false);
  hangUp.abort();
  await expect(calling).rejects.toThrow(/abort/);
  await left.promise;
  expect((await agent.health.show()).status).toBe("ok");
});

it.each([
  ["Content-Length: 100", '{"tool":'],
  ["Transfer-Encoding: chunked", '8\r\n{"tool":\r\n'],
])("takes a client that leaves in the middle of its body for nothing of its own (%s)", async (framing, half) => {
  await listening.close(100);
  const logged: string[] = [];
  await using own = await httpFixture(stubRuntime().runtime, {
    hosts: () => loopbackHosts(listening.port),
    log: (message) => void logged.push(message),
  });
  const begun = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<number>();
  const fetch: HttpServer["fetch"] = async (request, connection) => {
    begun.resolve();
    const answer = await own.server.fetch(request, connection);
    answered.resolve(answer.status);
    return answer;
  };
  listening = await listen({ handler: { ...own.server, fetch }, port: 0 });
  const socket = connect(listening.port, "127.0.0.1", () => {
    const head = `POST /v1/calls HTTP/1.1\r\nHost: 127.0.0.1:${listening.port}\r\nContent-Type: application/json`;
    socket.write(`${head}\r\nAuthorization: Bearer ${own.tokens.agent}\r\n${framing}\r\n\r\n${half}`);
  });
  await begun.promise;
  socket.destroy();
  expect(await answered.promise).toBe(499);
  expect(logged).toEqual([]);
});

it("answers invalid HTTP and an invalid Host in its own form", async () => {
  const say = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(listening.port, "127.0.0.1", () => socket.end(text));
      let received = "";
      socket.on("data", (bytes) => {
        received += bytes.toString();
      });
      socket.on("close", () => resolve(received));
    });
  expect(await say("\u0016\u0003\u0001 hello\r\n\r\n")).toMatch(/^HTTP\/1.1 400 .*request_invalid/s);
  expect(await say("GET /v1/tools HTTP/1.1\r\nHost: a b<>\r\nConnection: close\r\n\r\n")).toMatch(
    /^HTTP\/1.1 4\d\d .*"error"/s,
  );
  expect(await say("GET /v1/tools HTTP/1.1\r\nConnection: close\r\n\r\n")).toMatch(/^HTTP\/1.1 400/);
  expect(
    await say("GET http://evil.example/v1/tools HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
  ).toMatch(/^HTTP\/1.1 421/);
  expect(
    await say(
      `GET http://evil.example/v1/tools HTTP/1.1\r\nHost: 127.0.0.1:${listening.port}\r\nConnection: close\r\n\r\n`,
    ),
  ).toMatch(/^HTTP\/1.1 421/);
  expect(
    await say(
      `GET /v1/tools HTTP/1.1\r\nHost: 127.0.0.1:${listening.port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
    ),
  ).toMatch(/^HTTP\/1.1 4\d\d/);
});

it("says which port is taken and what to do", async () => {
  await expect(listen({ handler: http.server, port: listening.port })).rejects.toThrow(/taken.*--port/);
});

it("gives the client outcomes, records and lines as they were sent", async () => {
  expect(await agent.calls.call({ tool: "echo" })).toMatchObject({
    status: "ok",
    call_id: "call_1",
    text: "done",
  });
  expect(await operator.approvals.list({ state: "pending" })).toMatchObject({
    approvals: [{ approval_id: "apr_1" }],
  });
  expect(await operator.approvals.approve({ id: "apr_1", reason: "fine" })).toMatchObject({ status: "approved" });
  expect(await operator.controls.show()).toEqual({
    paused: false,
    autonomy: "A2",
    off_tools: [],
    off_servers: [],
    pauses: [],
  });
  expect(await operator.controls.pause()).toMatchObject({ paused: true });
  expect(await operator.audit.verify()).toMatchObject({ intact: true });
  expect(await text(Readable.from(operator.audit.export()))).toBe("one\ntwo\n");
});

it("throws a problem with its code for what the server does not take, and gives a refused call as an outcome", async () => {
  const refused = await agent.approvals.approve({ id: "apr_1" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ClientProblem);
  expect(refused).toMatchObject({ status: 403, code: "permission_missing" });
  await stop();
  await serve(stubRuntime({ outcome: anOutcome({ status: "denied", refusal: refusal("blocked") }) }).runtime);
  expect(await agent.calls.call({ tool: "drop" })).toMatchObject({
    status: "denied",
    refusal: { code: "blocked" },
  });
});

it("throws a problem for a server that is not there", async () => {
  const nobody = createClient({ url: "http://127.0.0.1:1", token: "x" });
  await expect(nobody.health.show()).rejects.toMatchObject({ status: 0, code: "unreachable" });
});

it("keeps an idle line longer than its clients do, so that none is cut while a call is written to it", async () => {
  const answer = await fetch(`${listening.url}/healthz`);
  await answer.text();
  const seconds = Number(/timeout=(\d+)/.exec(answer.headers.get("keep-alive") ?? "")?.[1]);
  expect(seconds).toBeGreaterThanOrEqual(60);
});
