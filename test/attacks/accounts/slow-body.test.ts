import { once } from "node:events";
import { type IncomingMessage, request as sendRequest } from "node:http";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { McpHandler } from "../../../packages/postern/src/server/http/mcp-entry.ts";
import { listen } from "../../../packages/postern/src/server/http/serve.ts";
import { type HttpFixture, host, httpFixture, inSession } from "../../fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../../fakes/people.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

let h: RuntimeFixture;
let http: HttpFixture;
beforeEach(async () => {
  h = await runtimeFixture({ accounts: { passwordCost: cheap } });
  http = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock });
  await h.runtime.accounts.add({ name: "eve", roles: ["approver"], password: goodPassword }, holder);
});
afterEach(async () => {
  await http[Symbol.asyncDispose]();
  await h.runtime.close();
});

async function bySession(): Promise<Readonly<Record<string, string>>> {
  return inSession(entered(await h.runtime.accounts.signIn("eve", goodPassword, here)));
}

async function byToken(): Promise<Readonly<Record<string, string>>> {
  const eve = await h.runtime.accounts.get("eve", holder);
  const { text } = await h.runtime.accounts.makeToken({ name: "cli", kind: "person" }, eve, holder);
  return { authorization: `Bearer ${text}` };
}

/** Sends the head of a request and half its body, and returns a function that sends the rest. */
function begin(path: string, headers: Readonly<Record<string, string>>): () => Promise<Response> {
  const text = new TextEncoder();
  let finish = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(text.encode('{"reason":'));
      finish = () => {
        controller.enqueue(text.encode('"mine"}'));
        controller.close();
      };
    },
  });
  const request = new Request(`http://${host}${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body,
    duplex: "half",
  } as RequestInit);
  const answered = http.server.fetch(request);
  return () => {
    finish();
    return answered;
  };
}

/** Waits until the server has read the body so far. */
async function readSoFar(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe.each([
  ["a session", bySession],
  ["a token", byToken],
])("a decision whose body arrives slowly, by %s", (_, credential) => {
  it.each([
    ["was disabled", { disabled: true }],
    ["lost its role", { roles: ["viewer"] as const }],
  ])("decides nothing once its account %s", async (__, change) => {
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, asker);
    const finish = begin(`/v1/approvals/${approvalId}/approve`, await credential());
    await readSoFar();
    await h.runtime.accounts.change("eve", change, holder);
    expect((await finish()).status).toBe(401);
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("pending");
  });

  it("decides if its account did not change", async () => {
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, asker);
    const finish = begin(`/v1/approvals/${approvalId}/approve`, await credential());
    expect((await finish()).status).toBe(200);
    expect((await h.runtime.approvals.get(approvalId))?.state).toBe("approved");
  });
});

/** As `begin`, over a socket: resolves when the server has the head. */
async function beginMcp(port: number, authorization: string): Promise<() => Promise<number | undefined>> {
  const headers = { authorization, host, "content-type": "application/json", expect: "100-continue" };
  const sent = sendRequest({ port, path: "/mcp", method: "POST", headers });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.flushHeaders();
  await once(sent, "continue");
  sent.write('{"reason":');
  return async () => {
    sent.end('"mine"}');
    const [answer] = await answered;
    answer.resume();
    return answer.statusCode;
  };
}

it("an MCP message whose body arrives slowly does nothing once its token is revoked", async () => {
  let seen = 0;
  const mcp: McpHandler = (exchange) => {
    seen += 1;
    exchange.answer(200, {}, "{}");
  };
  await using other = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock, mcp });
  const listening = await listen({ handler: other.server, port: 0 });
  onTestFinished(() => listening.close(0));
  await h.runtime.accounts.add({ name: "olga", roles: ["operator"] }, holder);
  const owner = await h.runtime.accounts.get("olga", holder);
  const { text, token } = await h.runtime.accounts.makeToken({ name: "bot", kind: "agent" }, owner, holder);
  expect(await (await beginMcp(listening.port, `Bearer ${text}`))()).toBe(200);
  const finish = await beginMcp(listening.port, `Bearer ${text}`);
  await readSoFar();
  await h.runtime.accounts.revokeToken(token.id, holder);
  expect(await finish()).toBe(401);
  expect(seen).toBe(1);
});
