import { expect, it, onTestFinished } from "vitest";
import { handled } from "../../../../../test/fakes/mcp-exchange.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import type { Limits } from "../../call/session.ts";
import { createRuntime } from "../../runtime/create.ts";
import { createMcpGateway, type McpGateway } from "./mcp-server.ts";
import type { McpCaller } from "./request-source.ts";

/** Raw 2025-11-25 over HTTP, and a tool that answers when the test lets it. */
async function open(limits: Partial<Limits> = {}) {
  const clock = new FakeClock();
  const waiting: (() => void)[] = [];
  const runtime = await createRuntime({
    tools: [
      {
        ...{
          name: "slow",
          description: "s",
          risk: "medium",
          effects: "write",
          idempotent: false,
          input: { type: "object" },
        },
        execute: ({ word }: { readonly word?: string }) =>
          new Promise((resolve) => waiting.push(() => resolve(`slow ${word}`))),
      },
    ],
    policy: { maxRiskUnapproved: "high" },
    store: "memory",
    limits,
    clock,
  });
  const door = createMcpGateway({ runtime, clock });
  onTestFinished(async () => {
    await runtime.close(0);
    await door.close();
  });
  const began = async (calls = 1): Promise<void> =>
    void (await expect.poll(() => waiting.length).toBeGreaterThanOrEqual(calls));
  const letGo = (): void => {
    for (const go of waiting.splice(0)) go();
  };
  return { clock, runtime, door, began, letGo };
}

function named(agent: string): McpCaller {
  return { principal: { tenant: "t", agent, via: `token:${agent}` }, scopes: [] };
}

function ask(door: McpGateway, caller: McpCaller, body: object, session?: string): Promise<Response> {
  const accept = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const headers = { ...accept, ...(session !== undefined && { "mcp-session-id": session }) };
  const request = new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(body) });
  return handled(door, request, caller);
}

/** The answer comes as a whole, at the end of the call. */
async function textOf(answer: Promise<Response>): Promise<string> {
  return (await answer).text();
}

async function begin(door: McpGateway, caller: McpCaller): Promise<string> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const opened = await ask(door, caller, { jsonrpc: "2.0", id: 1, method: "initialize", params });
  await opened.text();
  return opened.headers.get("mcp-session-id") ?? "";
}

const call = (id: number | string, word = "one") => ({
  ...{ jsonrpc: "2.0", id, method: "tools/call", params: { name: "slow", arguments: { word } } },
});
const list = { jsonrpc: "2.0", id: "list", method: "tools/list" };

it("no number of one agent's sessions ends another's session or its call under way", async () => {
  const { door, runtime, began, letGo } = await open();
  const ada = named("ada");
  const [busy, quiet] = [await begin(door, ada), await begin(door, ada)];
  const answer = textOf(ask(door, ada, call(2), busy));
  await began();
  const first = await begin(door, named("bob"));
  for (let i = 0; i < 1_100; i += 1) await begin(door, named("bob"));
  letGo();
  expect(await answer).toContain("slow one");
  expect((await ask(door, ada, list, quiet)).status).toBe(200);
  expect((await ask(door, named("bob"), list, first)).status).toBe(404);
  expect(await runtime.calls.list()).toMatchObject([{ state: "ok" }]);
});

it("of one agent's sessions the oldest without a call under way makes room for the hundred-and-first", async () => {
  const { clock, door, began, letGo } = await open();
  const ada = named("ada");
  const [busy, oldest, next] = [await begin(door, ada), await begin(door, ada), await begin(door, ada)];
  const answer = textOf(ask(door, ada, call(2), busy));
  await began();
  await clock.advance(1);
  for (let i = 0; i < 97; i += 1) await begin(door, ada);
  expect((await ask(door, ada, list, next)).status).toBe(200);
  await clock.advance(1);
  await begin(door, { ...ada, principal: { ...ada.principal, via: "token:another of hers" } });
  expect((await ask(door, ada, list, oldest)).status).toBe(404);
  expect((await ask(door, ada, list, next)).status).toBe(200);
  letGo();
  expect(await answer).toContain("slow one");
});

it("beyond 1,000 sessions the oldest of the caller with the most ends", async () => {
  const { clock, door } = await open();
  const one = await begin(door, named("one"));
  const oldest = await begin(door, named("many"));
  await clock.advance(1);
  for (let i = 0; i < 99; i += 1) await begin(door, named("many"));
  for (let i = 0; i < 899; i += 1) await begin(door, named(`other ${Math.floor(i / 99)}`));
  expect((await ask(door, named("one"), list, one)).status).toBe(200);
  await begin(door, named("late"));
  expect((await ask(door, named("many"), list, oldest)).status).toBe(404);
  expect((await ask(door, named("one"), list, one)).status).toBe(200);
});

it("a session that was idle for an hour ends when another is opened", async () => {
  const { clock, door } = await open();
  const [idle, used] = [await begin(door, named("ada")), await begin(door, named("ada"))];
  await clock.advance(3_599_999);
  expect((await ask(door, named("ada"), list, used)).status).toBe(200);
  await clock.advance(1);
  await begin(door, named("bob"));
  expect((await ask(door, named("ada"), list, idle)).status).toBe(404);
  expect((await ask(door, named("ada"), list, used)).status).toBe(200);
});

it("two requests under one id are never taken for each other: the second is refused while the first is under way", async () => {
  const { door, began, letGo } = await open();
  const ada = named("ada");
  const session = await begin(door, ada);
  const first = textOf(ask(door, ada, call(7, "first"), session));
  await began();
  const second = await ask(door, ada, call(7, "second"), session);
  expect([second.status, await second.json()]).toMatchObject([400, { id: 7, error: { code: -32_600 } }]);
  const other = ask(door, ada, call("7"), session); // another id
  await began(2);
  letGo();
  expect((await other).status).toBe(200);
  expect(await first).toContain("slow first");
  const again = textOf(ask(door, ada, call(7, "again"), session));
  await began();
  letGo();
  expect(await again).toContain("slow again");
});

it("an id is free again when its request was cancelled, or was none", async () => {
  const { door, began, letGo } = await open();
  const ada = named("ada");
  const session = await begin(door, ada);
  void textOf(ask(door, ada, call(7), session));
  await began();
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
  expect((await ask(door, ada, cancelled, session)).status).toBe(202);
  expect((await ask(door, ada, { ...list, id: 7 }, session)).status).toBe(200);
  const unacceptable = { "content-type": "application/json", accept: "text/html", "mcp-session-id": session };
  const refused = { method: "POST", headers: unacceptable, body: JSON.stringify({ ...list, id: 8 }) };
  expect((await handled(door, new Request("http://127.0.0.1/mcp", refused), ada)).status).toBe(406);
  expect((await ask(door, ada, { ...list, id: 8 }, session)).status).toBe(200);
  letGo();
});

it("spends one budget for a caller, however many sessions it opens", async () => {
  const { door } = await open({ maxToolCalls: 2 });
  const answers: string[] = [];
  for (const caller of [named("a"), named("a"), named("a"), named("b")]) {
    const session = await begin(door, caller);
    const params = { name: "none", arguments: {} };
    const answer = await ask(door, caller, { jsonrpc: "2.0", id: 2, method: "tools/call", params }, session);
    answers.push(/budget of 2 calls/.test(await answer.text()) ? "used up" : "looked for");
  }
  expect(answers).toEqual(["looked for", "looked for", "used up", "looked for"]);
});

it("an `initialize` with the header of a session that ended, or of another caller's, begins a new one", async () => {
  const { door } = await open();
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params };
  const opened = await ask(door, named("ada"), initialize);
  const theirs = opened.headers.get("mcp-session-id") ?? "";
  for (const old of ["ended-long-ago", theirs]) {
    const again = await ask(door, named("bob"), initialize, old);
    expect(again.status).toBe(200);
    expect(again.headers.get("mcp-session-id")).not.toBe(old);
    const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
    expect((await ask(door, named("bob"), list, old)).status).toBe(404);
    expect((await ask(door, named("bob"), list, again.headers.get("mcp-session-id") ?? "")).status).toBe(200);
  }
});
