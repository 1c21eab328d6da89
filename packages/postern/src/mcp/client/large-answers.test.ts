import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRuntime, type Runtime, type ServerConfig } from "../../index.ts";

/** Real servers, over real pipes and sockets: test/fakes/large-server.ts says what they answer. */
const program = "test/fakes/large-server.ts";
const overPipes: ServerConfig = { command: process.execPath, args: [program] };
const maxBytes = 4 * 2 ** 20;

async function open(server: ServerConfig, results: { readonly maxBytes?: number } = {}): Promise<Runtime> {
  const runtime = await createRuntime({
    servers: { one: { ...server, risk: "safe", tools: { blocks: { risk: "medium" } } } },
    results,
    policy: { maxRiskUnapproved: "high" },
  });
  onTestFinished(() => runtime.close());
  return runtime;
}

async function openOverHttp(results: { readonly maxBytes?: number } = {}): Promise<Runtime> {
  const child = spawn(process.execPath, [program, "http"], { stdio: ["ignore", "ignore", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [said] = (await once(child.stderr, "data")) as [Buffer]; // its port
  return open({ url: `http://127.0.0.1:${said.toString().trim()}/mcp` }, results);
}

const large = (bytes: number, id = "first", more: { readonly as?: string; readonly beside?: boolean } = {}) => ({
  tool: "one__large",
  arguments: { bytes, id, ...more },
});

async function terminalEvents(runtime: Runtime, call: string): Promise<readonly string[]> {
  const events = await runtime.audit.query({ callId: call });
  return events.map(({ type }) => type).filter((type) => /succeeded|failed|unknown/.test(type));
}

it("an answer of 12 MB over pipes is a result like any other", async () => {
  const runtime = await open(overPipes);
  expect(await runtime.invoke(large(12_000_000))).toMatchObject({
    status: "ok",
    artifact: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

it.each(["first", "last"])(
  "an answer of 100 MB over pipes ends its own call alone, wherever its id stands: %s",
  async (place) => {
    const runtime = await open(overPipes);
    const [before] = runtime.health().servers;
    const beside = runtime.invoke({ tool: "one__waiting" });
    const outcome = await runtime.invoke(large(100_000_000, place, { beside: true }));
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "result_unavailable", retry: "never" } });
    expect(outcome.text).toContain("more than 33554432 bytes, the most that is taken (`results.max_bytes`)");
    expect(await terminalEvents(runtime, outcome.callId)).toEqual(["tool_call.succeeded"]);
    expect(await beside).toMatchObject({ status: "ok", text: "waited" });
    expect(await runtime.invoke(large(10))).toMatchObject({ status: "ok" });
    expect(runtime.health().servers).toEqual([before]);
  },
);

it("an answer beyond the limit that does not say whose it is ends no call, and the connection goes on", async () => {
  const runtime = await open(overPipes, { maxBytes });
  const beside = runtime.invoke({ tool: "one__waiting" });
  const ended = runtime.invoke(large(5_000_000, "nowhere", { beside: true }), { deadline: Date.now() + 60_000 });
  expect(await beside).toMatchObject({ status: "ok", text: "waited" });
  expect(await runtime.invoke(large(10))).toMatchObject({ status: "ok" });
  await runtime.close(0);
  expect(await ended.catch(() => "cancelled")).not.toMatchObject({ status: "ok" });
});

it.each(["stream", "json"])("an answer of 100 MB over HTTP ends its own call alone: %s", async (as) => {
  const runtime = await openOverHttp();
  const beside = runtime.invoke({ tool: "one__waiting" });
  const outcome = await runtime.invoke(large(100_000_000, "first", { as, beside: true }));
  expect(outcome).toMatchObject({ status: "error", refusal: { code: "result_unavailable" } });
  expect(outcome.text).toContain("more than 33554432 bytes");
  expect(await terminalEvents(runtime, outcome.callId)).toEqual(["tool_call.succeeded"]);
  expect(await beside).toMatchObject({ status: "ok", text: "waited" });
  expect(await runtime.invoke(large(12_000_000, "first", { as }))).toMatchObject({ status: "ok" });
  expect(runtime.health().servers).toMatchObject([{ status: "connected" }]);
});

describe("a structured answer that is read on the worker thread", () => {
  const rows = 100_000;
  const parsed = {
    rows: Array.from({ length: rows }, (_, at) => JSON.parse(`{"at":${at},"name":"somebody","__proto__":[${at}]}`)),
    total: rows,
  };
  const whole = JSON.stringify(parsed);
  const ways = [
    ["over pipes", {}],
    ["over pipes, its id last", { id: "last" }],
    ["over HTTP, as a stream", { as: "stream" }],
    ["over HTTP, as JSON", { as: "json" }],
  ] as const;
  const opened = (how: string): Promise<Runtime> => (how.includes("HTTP") ? openOverHttp() : open(overPipes));

  it.each(ways)("is kept as it is: %s", async (how, more) => {
    const runtime = await opened(how);
    const outcome = await runtime.invoke({ tool: "one__large", arguments: { rows, ...more } });
    expect(outcome).toMatchObject({ status: "ok", structured: { keys: ["rows", "total"], length: 2 } });
    const { bytes } = await runtime.artifacts.open(outcome.artifact ?? "", { tenant: "default", agent: "default" });
    expect(Buffer.from(bytes).toString() === whole).toBe(true);
    expect(outcome.text.startsWith('{"rows":[{"at":0,"name":"somebody","__proto__":[0]}')).toBe(true);
  });

  it.each(ways)("ends its own call alone where it is no JSON: %s", async (how, more) => {
    const runtime = await opened(how);
    const outcome = await runtime.invoke({ tool: "one__large", arguments: { rows, broken: true, ...more } });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "outcome_unknown" } });
    expect(outcome.text).toContain("is no JSON");
    expect(await terminalEvents(runtime, outcome.callId)).toEqual(["tool_call.unknown"]);
    expect(await runtime.invoke(large(10))).toMatchObject({ status: "ok" });
  });

  it.each([true, false])(
    "stays as it is with a server of 2026-07-28, whose content may be a list: %s",
    async (list) => {
      const runtime = await open({ command: process.execPath, args: ["test/fakes/modern-server.ts"] });
      const outcome = await runtime.invoke({ tool: "one__rows", arguments: { rows, list } });
      const { bytes } = await runtime.artifacts.open(outcome.artifact ?? "", { tenant: "default", agent: "default" });
      const kept = JSON.parse(Buffer.from(bytes).toString());
      expect(list ? kept : kept.rows).toHaveLength(rows);
      expect(outcome.structured).toMatchObject({ length: list ? rows : 1 });
    },
  );

  it("is refused where it has more than is taken", async () => {
    const runtime = await open(overPipes, { maxBytes: 2 * 2 ** 20 });
    const outcome = await runtime.invoke({ tool: "one__large", arguments: { rows } });
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "result_unavailable" } });
    expect(outcome.text).toContain("more than 2097152 bytes");
  });
});

it("one malformed definition takes no other tool with it, and is refused by its name", async () => {
  const runtime = await open(overPipes);
  const names = runtime.tools.names();
  expect(names).toEqual(["one__bare", "one__blocks", "one__decorated", "one__formed", "one__large", "one__waiting"]);
  expect(runtime.health().servers[0]?.refused).toEqual([
    { tool: "one__listing", why: "Its `inputSchema` does not say `type: object`." },
    { tool: "one__number-6", why: "It is listed without a `name`." },
    { tool: "one__number-7", why: "It is listed as something that is not an object." },
    { tool: "one__worded", why: "Its `description` is no text." },
    { tool: "one__schemed", why: "Its `inputSchema` has a `required` that is not a list of names." },
    { tool: "one__hinted", why: "Its `annotations.readOnlyHint` is neither true nor false." },
  ]);
});

it("an answer with an invalid block is still an answer", async () => {
  const runtime = await open(overPipes);
  const outcome = await runtime.invoke({ tool: "one__blocks" });
  expect(outcome).toMatchObject({ status: "ok", content: [{ text: '{"type":"text"}' }, { text: "5" }] });
  expect(runtime.health().servers).toMatchObject([{ status: "connected" }]);
});
