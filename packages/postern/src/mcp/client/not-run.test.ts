import { expect, it, onTestFinished } from "vitest";
import { type Answer, rawHttp, reply } from "../../../../../test/fakes/raw-http.ts";
import { createRuntime, type Runtime } from "../../index.ts";

async function open(url: string): Promise<Runtime> {
  const runtime = await createRuntime({
    servers: { one: { url, risk: "medium" } },
    policy: { maxRiskUnapproved: "high" },
  });
  onTestFinished(() => runtime.close(0));
  return runtime;
}

/** A server that forgets its sessions when it is told to, and says so in this way. */
function forgetful(say: (id: unknown) => readonly [body: string, status: number]) {
  const sessions = new Set<unknown>();
  const ran: unknown[] = [];
  let forgetsAll = false;
  const answer: Answer = ({ method, id, headers }, response) => {
    if (method === "initialize" && !forgetsAll) {
      const session = crypto.randomUUID();
      sessions.add(session);
      const serverInfo = { name: "raw", version: "1" };
      const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo };
      return reply(response, JSON.stringify({ jsonrpc: "2.0", id, result }), 200, { "mcp-session-id": session });
    }
    if (id === undefined || headers["mcp-session-id"] === undefined) return false;
    if (!sessions.has(headers["mcp-session-id"])) {
      const [body, status] = say(id);
      return reply(response, body, status);
    }
    if (method === "tools/call") ran.push(id);
    return false;
  };
  const forget = (forEver = false): void => {
    sessions.clear();
    forgetsAll = forEver;
  };
  const allow = (): void => {
    forgetsAll = false;
  };
  return { answer, ran, forget, allow };
}

const error = (code: number, message: string) => (id: unknown) =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });

const forms: readonly (readonly [string, (id: unknown) => string, number])[] = [
  ["HTTP 404", error(-32_001, "Session not found"), 404],
  ["HTTP 404 without a body", () => "", 404],
  ["HTTP 410", () => "gone", 410],
  ["HTTP 400 of the TypeScript SDK", error(-32_000, "Bad Request: No valid session ID provided"), 400],
  ["HTTP 400 for the header", error(-32_000, "Bad Request: Mcp-Session-Id header is required"), 400],
  ["HTTP 400 before initialize", error(-32_000, "Bad Request: Server not initialized"), 400],
  ["HTTP 400 as plain text", () => "Invalid session id", 400],
  ["HTTP 200 with an error", error(-32_001, "Session expired"), 200],
];

it.each(forms)(
  "a session that a server forgot (%s) is made again, and the call runs once",
  async (_what, body, status) => {
    const server = forgetful((id) => [body(id), status]);
    const { url } = await rawHttp(server.answer);
    const runtime = await open(url);
    expect(await runtime.invoke({ tool: "one__t", arguments: { n: 1 } })).toMatchObject({ status: "ok" });
    server.forget();
    expect(await runtime.invoke({ tool: "one__t", arguments: { n: 2 } })).toMatchObject({ status: "ok", text: "done" });
    expect(server.ran).toHaveLength(2);
  },
);

it("calls that find the session gone at the same moment share one new session", async () => {
  const server = forgetful((id) => [error(-32_001, "Session not found")(id), 404]);
  const { url, asked } = await rawHttp(server.answer);
  const runtime = await open(url);
  server.forget();
  const calls = [1, 2, 3, 4].map((n) => runtime.invoke({ tool: "one__t", arguments: { n } }));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(["ok", "ok", "ok", "ok"]);
  expect(server.ran).toHaveLength(4);
  expect(asked.filter((method) => method === "initialize")).toHaveLength(2);
});

it("a server that takes no new session has not run the call: it may be sent again", async () => {
  const server = forgetful((id) => [error(-32_001, "Session not found")(id), 404]);
  const { url } = await rawHttp(server.answer);
  const runtime = await open(url);
  server.forget(true);
  const outcome = await runtime.invoke({ tool: "one__t", arguments: { n: 1 } });
  expect(outcome).toMatchObject({ status: "error", refusal: { retry: "later" } });
  expect(server.ran).toHaveLength(0);
});

it("a person's approval outlasts a server that could not be reached: the call runs later, unasked", async () => {
  const server = forgetful((id) => [error(-32_001, "Session not found")(id), 404]);
  const { url } = await rawHttp(server.answer);
  const runtime = await createRuntime({
    servers: { one: { url, risk: "high" } },
    approvals: { patience: "suspend" },
    autonomy: "A2",
  });
  onTestFinished(() => runtime.close(0));
  const call = { tool: "one__t", arguments: { to: "ada" } };
  const { approvalId = "" } = await runtime.invoke(call);
  await runtime.approvals.decide(approvalId, { decision: "approved", by: { user: "olga", via: "token:olga" } });
  server.forget(true);
  const failed = await runtime.invoke(call);
  expect(failed).toMatchObject({ status: "error", refusal: { retry: "later" } });
  expect(failed.text).toContain("is not used up");
  server.allow();
  const back = Promise.withResolvers<void>();
  runtime.tools.follow(
    ({ change }) => change === "server" && runtime.health().servers[0]?.status === "connected" && back.resolve(),
  );
  await back.promise;
  expect(await runtime.invoke(call)).toMatchObject({ status: "ok", text: "done" });
  expect(server.ran).toHaveLength(1);
  expect(await runtime.approvals.list()).toHaveLength(1); // nobody was asked again
});

it("a call is not sent again to a tool that has become another one meanwhile", async () => {
  const server = forgetful((id) => [error(-32_001, "Session not found")(id), 404]);
  let description = "Reads a row.";
  const { url } = await rawHttp((request, response) => {
    if (request.method !== "tools/list") return server.answer(request, response);
    const tools = [{ name: "t", description, inputSchema: { type: "object" } }];
    return reply(response, JSON.stringify({ jsonrpc: "2.0", id: request.id, result: { tools } }));
  });
  const runtime = await open(url);
  server.forget();
  description = "Deletes a row.";
  const outcome = await runtime.invoke({ tool: "one__t", arguments: { n: 1 } });
  expect(outcome).toMatchObject({ status: "error" });
  expect(outcome.text).toContain("defines it differently now; nothing was run");
  expect(server.ran).toHaveLength(0);
});

it("an error of the tool that speaks of a session is the tool's own, and runs nothing twice", async () => {
  let ran = 0;
  const { url } = await rawHttp(({ method, id }, response) => {
    if (method !== "tools/call") return false;
    ran += 1;
    return reply(response, error(-32_050, "The login session expired while the row was deleted")(id));
  });
  const outcome = await (await open(url)).invoke({ tool: "one__t" });
  expect(outcome).toMatchObject({ refusal: { code: "tool_failed" } });
  expect(ran).toBe(1);
});

it.each([
  [429, "120"],
  [429, "date"],
  [503, "120"],
])(
  "HTTP %s with Retry-After (%s) says when calls are taken again, and nothing is sent before",
  async (status, form) => {
    let calls = 0;
    const { url } = await rawHttp(({ method }, response) => {
      if (method !== "tools/call") return false;
      calls += 1;
      const after = form === "date" ? new Date(Date.now() + 120_000).toUTCString() : form;
      return reply(response, "slow down", status, { "retry-after": after });
    });
    const runtime = await open(url);
    const before = Date.now();
    const outcome = await runtime.invoke({ tool: "one__t", arguments: { n: 1 } });
    expect(outcome).toMatchObject({ status: "error", refusal: { retry: "later" } });
    const { rateLimitResetsAt = 0 } = runtime.tools.get("one__t")?.health ?? {};
    expect(rateLimitResetsAt - before).toBeGreaterThan(110_000);
    expect(rateLimitResetsAt - before).toBeLessThan(130_000);
    const next = await runtime.invoke({ tool: "one__t", arguments: { n: 2 } });
    expect(next).toMatchObject({ refusal: { code: "tool_unavailable", retry: "later" } });
    expect(next.text).toContain("rate limited until");
    expect(calls).toBe(1);
  },
);
