/** A real gateway stops under SIGTERM while calls run, callers wait and streams are open. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Ended, PosternProcess } from "../fakes/postern-process.ts";

let cli: PosternProcess;
let data: string;
let url: string;
let child: Awaited<ReturnType<PosternProcess["start"]>>["child"];
let end: Promise<Ended>;

beforeEach(async () => {
  cli = new PosternProcess();
  appendFileSync(join(cli.folder, "postern.yaml"), "approvals: { patience: wait }\n");
  data = join(cli.folder, ".postern");
  ({ child, end } = await cli.start(data));
  url = JSON.parse(readFileSync(join(data, "server.json"), "utf8")).url;
});
afterEach(() => {
  child.kill("SIGKILL");
  cli[Symbol.dispose]();
});

function ask(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const role = path.startsWith("/v1/events") ? "operator" : "agent";
  const authorization = `Bearer ${readFileSync(join(data, `${role}.token`), "utf8").trim()}`;
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const all = { authorization, "content-type": "application/json", ...headers };
  return fetch(`${url}${path}`, { ...sent, headers: all });
}

const call = (tool: string, args: object): Promise<Response> => ask("/v1/calls", { tool, arguments: args });
const ready = async (): Promise<number> => (await fetch(`${url}/readyz`)).status;

const client = { accept: "application/json, text/event-stream" };
function mcp(method: string, params: object, headers: Record<string, string> = {}): Promise<Response> {
  return ask("/mcp", { jsonrpc: "2.0", id: 7, method, params }, { ...client, ...headers });
}

async function openSession(): Promise<Record<string, string>> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const opened = await mcp("initialize", params);
  await opened.text();
  return { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
}

it("refuses new calls, ends running ones, answers those that wait, and says why streams end", async () => {
  const until = join(cli.folder, "until");
  const session = await openSession();
  const running = call("held", { until });
  await expect.poll(() => cli.runs).toContain("held");
  const waiting = call("send", { text: "x" });
  await expect
    .poll(async () => (await ask("/v1/approvals")).json())
    .toMatchObject({ approvals: [{ status: "pending" }] });
  const feed = await ask("/v1/events");
  const listening = await ask("/mcp", undefined, { ...session, accept: "text/event-stream" });
  expect([feed.status, listening.status, await ready()]).toEqual([200, 200, 200]);

  child.kill("SIGTERM");
  await expect.poll(ready).toBe(503);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const refused = await call("echo", { text: "late" });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await refused.json()).toMatchObject({ status: "error", refusal: { code: "draining", retry: "later" } });
  for (const late of [
    await mcp("tools/call", { name: "echo", arguments: { text: "late" } }, session),
    await mcp("initialize", {}),
  ]) {
    expect([late.status, late.headers.get("retry-after")]).toEqual([503, "5"]);
    const { id, error } = (await late.json()) as { id: number; error: { data: object } };
    expect([id, error.data]).toEqual([7, { code: "draining", retry: "later" }]);
  }
  expect((await ask("/v1/events")).status).toBe(503);
  expect(await (await waiting).json()).toMatchObject({ refusal: { code: "approval_timed_out" } });

  writeFileSync(until, "");
  expect(await (await running).json()).toMatchObject({ status: "ok", text: "done" });
  expect(await feed.text()).toMatch(/event: end\ndata: .*"reason":"draining".*\n\n$/);
  expect(await listening.text()).toMatch(/: Postern stops\.\n\n$/);
  expect((await end).code).toBe(0);
}, 30_000);

it("answers a call that takes longer than the drain, and keeps its outcome unknown", async () => {
  const running = call("held", { until: join(cli.folder, "never") });
  const session = await openSession();
  const overMcp = mcp("tools/call", { name: "slow", arguments: { seconds: 120 } }, session);
  await expect.poll(() => cli.runs).toEqual(expect.arrayContaining(["held", "slow"]));
  child.kill("SIGTERM");
  const answered = await running;
  expect(answered.status).toBe(504);
  expect(await answered.json()).toMatchObject({ refusal: { code: "outcome_unknown", retry: "same-key" } });
  expect(await (await overMcp).text()).toContain("was still running when Postern stopped");
  expect((await end).code).toBe(0);
  const listed = JSON.parse((await cli.run("calls", "list", "--state", "unknown", "--json", "--data", data)).out);
  expect(listed.calls).toHaveLength(2);
}, 40_000);

it("ends at once under a second signal", async () => {
  void call("held", { until: join(cli.folder, "never") }).catch(() => undefined);
  await expect.poll(() => cli.runs).toContain("held");
  child.kill("SIGTERM");
  await expect.poll(ready).toBe(503);
  child.kill("SIGTERM");
  const { code, err } = await end;
  expect(code).toBe(1);
  expect(err).toContain("Aborted");
}, 30_000);
