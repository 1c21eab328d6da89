import { PassThrough } from "node:stream";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { ElicitRequestSchema, ResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMcpGateway } from "../../packages/postern/src/mcp/server/mcp-server.ts";
import type { LocalTool } from "../../packages/postern/src/tools/kinds.ts";
import {
  type ApprovalClient,
  approvalClients,
  type ClientPlace,
  connectNew,
  connectOld,
  sendRaw,
} from "../fakes/approval-clients.ts";
import { Gateway } from "../fakes/gateway.ts";
import { timeoutMs } from "../fakes/gateway-story.ts";
import { type ServedRuntime, serveRuntime } from "../fakes/served-runtime.ts";

interface Scene extends ClientPlace {
  readonly served: ServedRuntime;
  readonly ran: readonly string[];
}

async function open({ approvalWaitMs = 20_000, ttlMs = 60_000, scripts = false } = {}): Promise<Scene> {
  const ran: string[] = [];
  const send: LocalTool = {
    ...{ name: "send", description: "Sends.", effects: "write", idempotent: false },
    risk: "high",
    input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    execute: async ({ to }, { signal }) => {
      ran.push(String(to));
      if (to === "nobody")
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return `sent to ${to}`;
    },
  };
  const read: LocalTool = {
    ...{ name: "read", description: "Reads.", risk: "safe", effects: "read", idempotent: true },
    ...{ input: { type: "object" }, execute: () => "read" },
  };
  const served = await serveRuntime(
    { tools: [send, read], autonomy: "A2", approvals: { patience: "suspend", ttlMs }, ...(scripts && { chains: {} }) },
    { approvalWaitMs, console: () => "http://console" },
  );
  return { served, ran, url: served.url, token: served.token };
}

async function askedIn({ served }: Scene): Promise<string> {
  const asked = async () => (await served.operator.approvals.list({ state: "pending" })).approvals;
  await expect.poll(asked).toHaveLength(1);
  return (await asked())[0]?.approval_id ?? "";
}

describe.each(approvalClients.map((client): [string, ApprovalClient] => [client.name, client]))(
  "a call that needs a person, by %s",
  (_name, client) => {
    it("runs once after the approval, which no answer of the client replaces", async () => {
      const scene = await open();
      const call = client.call(scene, "send", { to: "ada" });
      const id = await askedIn(scene);
      expect(scene.ran).toEqual([]);
      await scene.served.operator.approvals.approve({ id });
      const pages = client.rung === "page" ? [`http://console/approvals/${id}`] : [];
      expect(await call).toEqual({ isError: false, text: "sent to ada", pages });
      expect(scene.ran).toEqual(["ada"]);
    });

    it("is answered with the reason of the denial", async () => {
      const scene = await open();
      const call = client.call(scene, "send", { to: "ada" });
      await scene.served.operator.approvals.deny({ id: await askedIn(scene), reason: "not today" });
      expect(await call).toMatchObject({ isError: true, text: expect.stringContaining("not today") });
      expect(scene.ran).toEqual([]);
    });
  },
);

const revisions = ["2025-11-25", "2026-07-28"] as const;
type Revision = (typeof revisions)[number];
type Ask = (method: string, params: object) => Promise<Readonly<Record<string, unknown>>>;

/** Asks as each revision does. An error is returned as its code and message. */
async function asking(place: ClientPlace, revision: Revision, extensions: object = tasksOnly): Promise<Ask> {
  if (revision === "2025-11-25") {
    const client = await connectOld(place);
    onTestFinished(() => client.close());
    return (method, params) =>
      client.request({ method, params: { ...params } }, ResultSchema).catch(({ code, message }) => ({ code, message }));
  }
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientCapabilities": { extensions },
  };
  return async (method, params) => {
    const { result, error } = await sendRaw(place, { method, params: { ...params, _meta } });
    return result ?? { ...error };
  };
}

const tasksOnly = { "io.modelcontextprotocol/tasks": {} };

/** Begins a task. In 2025-11-25 it is a member of the answer. */
async function taskOf(ask: Ask, given: object, name = "send"): Promise<Readonly<Record<string, unknown>>> {
  const made = await ask("tools/call", { name, arguments: given, task: {} });
  return (made["task"] ?? made) as Readonly<Record<string, unknown>>;
}

/** `tasks/get` at another gateway of the same runtime, which knows what is stored. */
async function askedElsewhere({ served: { runtime } }: Scene, taskId: string): Promise<unknown> {
  const approval = await runtime.approvals.get(taskId);
  if (approval === undefined) throw new Error(`There is no task ${taskId}.`);
  await using other = createMcpGateway({ runtime });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = other.serveStdio({ principal: approval.principal, scopes: [] }, { input, output });
  input.end(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId } })}\n`);
  await served;
  return JSON.parse(String(output.read()));
}

describe.each(revisions)("a task of %s", (revision) => {
  it("is the stored request: it waits, runs once when its client asks, and has the result", async () => {
    const scene = await open();
    const ask = await asking(scene, revision);
    const task = await taskOf(ask, { to: "ada" });
    const taskId = await askedIn(scene);
    const message = expect.stringContaining(`http://console/approvals/${taskId}`);
    expect(task).toMatchObject({ taskId, status: "working", statusMessage: message });
    const [ttl, poll] = revision === "2025-11-25" ? ["ttl", "pollInterval"] : ["ttlMs", "pollIntervalMs"];
    expect(task).toMatchObject({ [ttl]: 60_000, [poll]: 2_000 });
    expect(await taskOf(ask, { to: "ada" })).toMatchObject({ taskId });
    await scene.served.operator.approvals.approve({ id: taskId });
    expect(scene.ran).toEqual([]);
    await expect.poll(() => ask("tasks/get", { taskId })).toMatchObject({ status: "completed" });
    if (revision === "2025-11-25")
      expect(await ask("tasks/result", { taskId })).toMatchObject({
        content: [{ text: "sent to ada" }],
        _meta: { "io.modelcontextprotocol/related-task": { taskId } },
      });
    else
      expect(await ask("tasks/get", { taskId })).toMatchObject({
        resultType: "complete",
        result: { resultType: "complete", isError: false, content: [{ text: "sent to ada" }] },
      });
    expect(scene.ran).toEqual(["ada"]);
  });

  it("exists for its caller alone, and wrong requests change nothing", async () => {
    const scene = await open();
    const ask = await asking(scene, revision);
    const { taskId } = await taskOf(ask, { to: "ada" });
    const { token } = await scene.served.operator.tokens.create({ name: "other", kind: "agent" });
    const other = await asking({ ...scene, token }, revision);
    const methods = ["get", "cancel", revision === "2025-11-25" ? "result" : "update"].map((name) => `tasks/${name}`);
    for (const method of methods) {
      expect(await other(method, { taskId })).toMatchObject({
        code: -32_602,
        message: expect.stringContaining("no task"),
      });
      expect(await ask(method, { taskId: "apr_unknown" })).toMatchObject({ code: -32_602 });
      expect(await ask(method, { taskId: "" })).toMatchObject({ code: -32_602 });
      expect(await ask(method, {})).toMatchObject({
        code: -32_602,
        message: expect.stringContaining("needs `taskId`"),
      });
      expect(await ask(method, { taskId: 7 })).toMatchObject({
        code: -32_602,
        message: expect.stringContaining("a text"),
      });
    }
    expect(await ask("tools/call", { name: "send", arguments: { to: "bob" }, task: true })).toMatchObject({
      code: -32_602,
    });
    expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "working" });
    expect((await scene.served.operator.approvals.list({})).approvals).toMatchObject([{ status: "pending" }]);
  });

  it("is cancelled while it waits: the request is withdrawn, and the same call asks again", async () => {
    const scene = await open();
    const ask = await asking(scene, revision);
    const { taskId } = await taskOf(ask, { to: "ada" });
    expect(await ask("tasks/cancel", { taskId })).not.toHaveProperty("code");
    expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
    const again = revision === "2025-11-25" ? { code: -32_602 } : { resultType: "complete" };
    expect(await ask("tasks/cancel", { taskId })).toMatchObject(again);
    const { approvals } = await scene.served.operator.approvals.list({});
    expect(approvals).toMatchObject([{ status: "withdrawn", decision: { reason: "The client cancelled the task." } }]);
    expect((await taskOf(ask, { to: "ada" }))["taskId"]).not.toBe(taskId);
    expect(scene.ran).toEqual([]);
  });

  it("is cancelled while it runs, by the signal of the call", async () => {
    const scene = await open();
    const ask = await asking(scene, revision);
    const { taskId } = await taskOf(ask, { to: "nobody" });
    await scene.served.operator.approvals.approve({ id: String(taskId) });
    expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "working" });
    await expect.poll(() => scene.ran).toEqual(["nobody"]);
    expect(await ask("tasks/cancel", { taskId })).not.toHaveProperty("code");
    expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
    expect(await askedElsewhere(scene, String(taskId))).toMatchObject({ result: { status: "cancelled" } });
    expect(scene.ran).toEqual(["nobody"]);
  });

  it("ends with the reason when no person decides in time", async () => {
    const scene = await open({ ttlMs: 300 });
    const ask = await asking(scene, revision);
    const { taskId } = await taskOf(ask, { to: "ada" });
    const ended = { status: "completed", statusMessage: expect.stringContaining("expired") };
    await expect.poll(() => ask("tasks/get", { taskId })).toMatchObject(ended);
    expect(scene.ran).toEqual([]);
  });
});

it("a task of 2025-11-25 also holds a call that needs no person, and one that is refused", async () => {
  const scene = await open();
  const ask = await asking(scene, "2025-11-25");
  for (const [name, text] of [
    ["read", "read"],
    ["nothing", "No tool"],
  ] as const) {
    const { taskId, status } = await taskOf(ask, { to: "ada" }, name);
    expect(status).toBe("working");
    expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "completed" });
    expect(await ask("tasks/result", { taskId })).toMatchObject({ content: [{ text: expect.stringContaining(text) }] });
  }
});

it("a script is one task, through each of its requests", async () => {
  const scene = await open({ scripts: true });
  const ask = await asking(scene, "2026-07-28");
  const code = 'return [await tools.send({ to: "ada" }), await tools.send({ to: "bob" })]';
  const { taskId } = await ask("tools/call", { name: "tool_chain", arguments: { code } });
  for (const to of ["ada", "bob"]) {
    expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "working" });
    const id = await askedIn(scene);
    await scene.served.operator.approvals.approve({ id });
    await expect.poll(() => ask("tasks/get", { taskId }).then(() => scene.ran)).toContain(to);
  }
  const result = { isError: false, content: [{ text: expect.stringContaining("sent to bob") }] };
  await expect.poll(() => ask("tasks/get", { taskId })).toMatchObject({ status: "completed", result });
  expect(scene.ran).toEqual(["ada", "bob"]);
});

it.each(revisions)("a script that was cancelled at its second request goes on no more (%s)", async (revision) => {
  const scene = await open({ scripts: true });
  const ask = await asking(scene, revision);
  const code = `await tools.send({ to: "ada" });
    try { await tools.send({ to: "bob" }) } catch { return await tools.read({}) }`;
  const { taskId } = await taskOf(ask, { code }, "tool_chain");
  const first = await askedIn(scene);
  await scene.served.operator.approvals.approve({ id: first });
  const second = async () => (await scene.served.operator.approvals.list({ state: "pending" })).approvals;
  await expect.poll(() => ask("tasks/get", { taskId }).then(second)).toHaveLength(1);
  expect(await ask("tasks/cancel", { taskId })).not.toHaveProperty("code");
  expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
  await expect.poll(second).toEqual([]);
  expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
  expect(await scene.served.runtime.calls.list({ tool: "read" })).toEqual([]);
  expect(scene.ran).toEqual(["ada"]);
});

it("a client of 2026-07-28 gets no task unless it declares tasks, and cannot ask for one", async () => {
  const scene = await open({ approvalWaitMs: 10 });
  const ask = await asking(scene, "2026-07-28", {});
  const answer = await ask("tools/call", { name: "send", arguments: { to: "ada" } });
  expect(answer).toMatchObject({ resultType: "complete", structuredContent: { status: "approval_pending" } });
  const taskId = await askedIn(scene);
  expect(await ask("tasks/get", { taskId })).toMatchObject({ code: -32_021 });
  const declared = await asking(scene, "2026-07-28");
  expect(await declared("tools/call", { name: "read", arguments: {} })).toMatchObject({ content: [{ text: "read" }] });
});

it.each(revisions)(
  "an undecided call of a client that opens pages is pending, and a re-send attaches (%s)",
  async (revision) => {
    const scene = await open({ approvalWaitMs: 10 });
    const client = await connectNew(scene, revision, { elicitation: { url: {} } });
    onTestFinished(() => client.close());
    client.setRequestHandler("elicitation/create", () => ({ action: "decline" }));
    const call = { name: "send", arguments: { to: "ada" } };
    const first = await client.callTool(call);
    const id = await askedIn(scene);
    expect(first).toMatchObject({ structuredContent: { status: "approval_pending", approval_id: id } });
    await scene.served.operator.approvals.approve({ id });
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: "sent to ada" }] });
    expect(scene.ran).toEqual(["ada"]);
  },
);

it("a question that a client left open ends with its call", async () => {
  const scene = await open({ approvalWaitMs: 10 });
  const client = await connectOld(scene, { elicitation: { url: {} } });
  onTestFinished(() => client.close());
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  client.setRequestHandler(ElicitRequestSchema, async (_request, { signal }) => {
    signal.addEventListener("abort", () => end());
    await ended;
    return { action: "cancel" };
  });
  const answer = await client.callTool({ name: "send", arguments: { to: "ada" } });
  expect(answer).toMatchObject({ structuredContent: { status: "approval_pending" } });
  await ended;
});

it("a task works over pipes, and one outlives `kill -9`: each runs once", { timeout: timeoutMs }, async () => {
  await using gateway = await Gateway.started();
  for (const job of ["one", "two"]) gateway.letGo(job);
  const operator = await gateway.operator();
  const session = createTaskSessionFromClient(await gateway.connectStdio("2025-11-25"), { endpointId: "pipes" });
  const execution = await session.callTool("send", { job: "one" }, { task: { preference: "require" } });
  const [asked] = (await operator.approvals.list({ state: "pending" })).approvals;
  await operator.approvals.approve({ id: asked?.approval_id ?? "" });
  const { outcome } = await execution.settle();
  expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: "did one" }] });
  await session.close();

  const { taskId } = await taskOf(await asking(await gateway.place(), "2026-07-28"), { job: "two" });
  await gateway.killAndStart();
  const ask = await asking(await gateway.place(), "2026-07-28");
  expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "working" });
  expect(await gateway.command("approvals", "approve", String(taskId))).toMatchObject({ code: 0 });
  const result = { isError: false, content: [{ text: "did two" }] };
  await expect.poll(() => ask("tasks/get", { taskId }), inTime).toMatchObject({ status: "completed", result });
  expect(gateway.diary).toEqual(["one", "two"]);
});

it("a question to open a page belongs to one call, and is used once", async () => {
  const scene = await open({ approvalWaitMs: 10 });
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } },
  };
  const send = (more: object, to = "ada") =>
    sendRaw(scene, { method: "tools/call", params: { name: "send", arguments: { to }, _meta, ...more } });
  const left = await send({});
  const { result = {} } = await send({});
  const id = await askedIn(scene);
  const url = `http://console/approvals/${id}`;
  const inputRequests = { [id]: { method: "elicitation/create", params: { mode: "url", url } } };
  expect(result).toMatchObject({ resultType: "input_required", inputRequests });
  const inputResponses = { [id]: { action: "accept" } };
  const answered = { inputResponses, requestState: result["requestState"] };
  const wrong = { error: { code: -32_602 } };
  expect(await send({ inputResponses, requestState: left.result?.["requestState"] })).toMatchObject(wrong);
  expect(await send(answered, "bob")).toMatchObject(wrong);
  expect(await send(answered)).toMatchObject({ result: { structuredContent: { status: "approval_pending" } } });
  expect(scene.ran).toEqual([]);
  await scene.served.operator.approvals.approve({ id });
  expect(await send(answered)).toMatchObject(wrong);
  expect(await send({})).toMatchObject({ result: { content: [{ text: "sent to ada" }] } });
  expect(scene.ran).toEqual(["ada"]);
});

/** For what processes do. */
const inTime = { timeout: 20_000 };
