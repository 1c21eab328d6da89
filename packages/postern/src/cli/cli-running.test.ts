import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import type { PosternProcess } from "../../../../test/fakes/postern-process.ts";

const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
const initialize = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`;
const cli = new CommandLine();

const called = { method: "tools/call", params: { name: "slow", arguments: { seconds: 0.3 } } };
const answeredAtOnce = [
  { id: 1, result: expect.objectContaining({ protocolVersion: "2025-11-25" }) },
  { id: 2, result: expect.objectContaining({ content: [{ type: "text", text: "done" }] }) },
  { id: 3, error: { code: -32_601, message: expect.any(String) } },
].map((answer) => ({ jsonrpc: "2.0", ...answer }));

/** What `start --stdio` answers, by id, to requests behind which the input ends; the last of them has no line end. */
async function atOnce(flags: readonly string[]): Promise<readonly unknown[]> {
  const { child, end } = cli.open(["start", "--stdio", ...flags]);
  const calls = [
    { id: 2, ...called },
    { id: 3, method: "no/such" },
  ];
  child.stdin?.end(initialize + calls.map((call) => JSON.stringify({ jsonrpc: "2.0", ...call })).join("\n"));
  const { code, out } = await end;
  expect(code).toBe(0);
  return answersIn(out).toSorted((one, other) => one.id - other.id);
}

function answersIn(out: string): readonly { readonly id: number }[] {
  return out
    .trim()
    .split("\n")
    .map((line): { readonly id: number } => JSON.parse(line));
}
afterAll(() => cli[Symbol.dispose]());

describe("with a running Postern", () => {
  const data = join(cli.folder, "running");
  const to = ["--data", data];
  let running: Awaited<ReturnType<PosternProcess["start"]>>;
  beforeAll(async () => {
    running = await cli.start(data);
  });
  afterAll(() => void running.child.kill("SIGKILL"));

  it("says where it is, what is offered, at which risk, and three commands that work", async () => {
    const tools = await cli.run("tools", ...to);
    expect(tools.out).toMatch(/^echo +safe +runs/m);
    expect(tools.out).toMatch(/^send +high +asks/m);
    expect(tools.out).toMatch(/^wipe +critical +blocked/m);
    expect(statSync(join(data, "server.json")).mode & 0o777).toBe(0o600);
    expect(statSync(data).mode & 0o777).toBe(0o700);
  });

  it("commands are its clients: a waiting call is decided from elsewhere, as the operator", async () => {
    const waiting = cli.run("call", "send", "text=wait", "--wait", "30", ...to);
    let approvals: { approvals: { approval_id: string }[] } = { approvals: [] };
    while (approvals.approvals.length === 0)
      approvals = JSON.parse((await cli.run("approvals", "list", "--json", ...to)).out);
    const [first] = approvals.approvals;
    expect(
      (await cli.run("approvals", "modify", first?.approval_id ?? "", "--arguments", '{"text":"edited"}', ...to)).code,
    ).toBe(0);
    expect(await waiting).toMatchObject({ code: 0, out: "sent edited\n" });
  });

  it("a denial reaches the caller with its reason", async () => {
    const asked = await cli.run("call", "send", "text=no", "--json", ...to);
    const { approval_id: id }: { approval_id: string } = JSON.parse(asked.out);
    expect((await cli.run("approvals", "deny", id, "--reason", "not today", ...to)).code).toBe(0);
    expect(await cli.run("call", "send", "text=no", ...to)).toMatchObject({
      code: 3,
      err: expect.stringContaining("not today"),
    });
  });

  it("a wait that ran out says that the request is open, and how to decide it", async () => {
    const { code, err } = await cli.run("call", "send", "text=late", "--wait", "1", ...to);
    expect(code).toBe(4);
    expect(err).toMatch(/^send waits for a person\n/);
    expect(err).not.toContain("approval_timed_out");
    const [, id = ""] = /approvals approve (apr_\S+)\n/.exec(err) ?? [];
    expect(err).toContain(`approvals deny ${id} --reason`);
    expect((await cli.run("call", "send", "text=late", ...to)).err).toContain(`approvals approve ${id}`);
    const { out } = await cli.run("audit", "show", "--tool", "send", ...to);
    expect(out).toContain("send waits for a person still");
    expect(out).toContain("send waits for a person: it was asked for already");
    expect((await cli.run("approvals", "deny", id, ...to)).code).toBe(0);
  });

  it("controls are durable, take effect at once and keep their history", async () => {
    expect((await cli.run("controls", "pause", "--reason", "lunch", ...to)).out).toContain("paused");
    expect((await cli.run("controls", ...to)).out).toMatch(/by operator \(token:operator\), .+\n *because +lunch\n/);
    expect(await cli.run("call", "echo", "text=a", ...to)).toMatchObject({
      code: 1,
      err: expect.stringContaining("paused all tool calls (lunch)"),
    });
    await cli.run("controls", "resume", ...to);
    expect((await cli.run("controls", ...to)).out).not.toContain("lunch");
    const asked = await cli.run("controls", "pause", "--agent", "local-agent", "--reason", "it loops", ...to);
    expect(asked.out).toMatch(/agent +local-agent by operator .+: it loops\n/);
    expect((await cli.run("call", "echo", "text=a", ...to)).err).toContain(
      "operator has paused the agent `local-agent` (it loops)",
    );
    await cli.run("controls", "resume", ...to);
    expect((await cli.run("call", "echo", "text=a", ...to)).code).toBe(1);
    expect((await cli.run("controls", "resume", "--agent", "local-agent", ...to)).out).not.toContain("it loops");
    const none = await cli.run("controls", "resume", "--agent", "local-agnt", ...to);
    expect(none.err).toContain("`local-agnt` was not paused, so nothing changes. Is the name right?");
    await cli.run("controls", "pause", "--tool", "echo", ...to);
    expect((await cli.run("controls", "resume", "--run", "r", "--tool", "echo", ...to)).code).toBe(2);
    expect((await cli.run("controls", "resume", "--tool", "echo", ...to)).out).toMatch(/tools off +none/);
    await cli.run("controls", "tool", "echo", "off", ...to);
    expect(await cli.run("call", "echo", "text=a", ...to)).toMatchObject({
      code: 1,
      err: expect.stringContaining("tool_unavailable"),
    });
    await cli.run("controls", "tool", "echo", "on", ...to);
    expect((await cli.run("controls", "autonomy", "a1", ...to)).out).toContain("A1");
    expect((await cli.run("call", "echo", "text=a", ...to)).code).toBe(4);
    const { changes }: { changes: { change: string; by: string; via: string }[] } = JSON.parse(
      (await cli.run("controls", "history", "--json", ...to)).out,
    );
    expect(changes.map(({ change }) => change)).toEqual([
      ...["autonomy", "tool_on", "tool_off", "tool_on", "tool_off"],
      ...["resume_agent", "pause_agent", "resume", "pause"],
    ]);
    expect(new Set(changes.map(({ by, via }) => `${by} (${via})`))).toEqual(new Set(["operator (token:operator)"]));
    expect((await cli.run("controls", "history", ...to)).out).toContain("operator (token:operator)  pause");
    await cli.run("controls", "autonomy", "A2", ...to);
  });

  it("an unknown name is switched off, and the command doubts the name", async () => {
    for (const what of ["tool", "server"]) {
      const off = await cli.run("controls", what, "ecko", "off", ...to);
      expect(off).toMatchObject({ code: 0, out: expect.stringContaining("ecko") });
      expect(off.err).toContain(`There is no ${what} \`ecko\` now`);
      expect((await cli.run("controls", what, "ecko", "on", ...to)).err).toBe("");
    }
    expect((await cli.run("controls", "tool", "echo", "off", ...to)).err).toBe("");
    await cli.run("controls", "tool", "echo", "on", ...to);
  });

  it("a second start on the same folder says who is there", async () => {
    const { code, err } = await cli.run("start", ...to);
    expect(code).toBe(1);
    expect(err).toMatch(/runs already on .*: http:\/\/127\.0\.0\.1:\d+ \(process \d+\)/);
  });

  it("answers what was piped in at once, through the running one", async () => {
    expect(await atOnce(to)).toEqual(answeredAtOnce);
  });

  it("speaks MCP over pipes, through the running one", async () => {
    const { child, end } = cli.open(["start", "--stdio", ...to]);
    child.stdin?.write(initialize);
    await once(child.stdout ?? child, "data");
    child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
    child.stdin?.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "echo", arguments: { text: "piped" } } })}\n`,
    );
    await once(child.stdout ?? child, "data");
    child.stdin?.end();
    const { code, out } = await end;
    expect(code).toBe(0);
    expect(answersIn(out).find(({ id }) => id === 2)).toMatchObject({
      result: { content: [{ type: "text", text: "piped" }] },
    });
  });

  it("drains on SIGTERM and leaves nothing that says it runs", async () => {
    running.child.kill("SIGTERM");
    const { code, err } = await running.end;
    expect(code).toBe(0);
    expect(err).toContain("Stopping");
    expect(existsSync(join(data, "server.json"))).toBe(false);
  });
});

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 0],
] as const)("%s lets a call in flight end, and a new start waits for that", async (signal, code) => {
  const data = join(cli.folder, `drained-${signal}`);
  const { child, end } = await cli.start(data);
  const before = cli.runs.length;
  const until = join(cli.folder, `ends-${signal}`);
  const call = cli.run("call", "held", `until=${until}`, "--data", data);
  await expect.poll(() => cli.runs.length).toBe(before + 1);
  child.kill(signal);
  await expect.poll(() => readFileSync(join(data, "server.json"), "utf8")).toContain('"stopping"');
  const again = cli.open(["start", "--data", data]);
  const [waiting] = await once(again.child.stderr ?? again.child, "data");
  expect(String(waiting)).toBe("Postern is being stopped here; waiting for it.\n");
  writeFileSync(until, "");
  expect(await call).toMatchObject({ code: 0, out: "done\n" });
  expect((await end).code).toBe(code);
  await expect.poll(() => readFileSync(join(data, "server.json"), "utf8")).toContain('"url"');
  again.child.kill("SIGTERM");
  expect((await again.end).code).toBe(0);
});

it("a second signal does not wait, and what was in flight is unknown afterwards", async () => {
  const data = join(cli.folder, "aborted");
  const { child, end } = await cli.start(data);
  const before = cli.runs.length;
  const call = cli.run("call", "slow", "seconds=60", "--data", data);
  await expect.poll(() => cli.runs.length).toBe(before + 1);
  child.kill("SIGTERM");
  await once(child.stderr ?? child, "data");
  child.kill("SIGTERM");
  expect(await end).toMatchObject({ code: 1, err: expect.stringContaining("Aborted") });
  expect((await call).code).toBe(1);
  expect(existsSync(join(data, "server.json"))).toBe(false);
  expect((await cli.run("calls", "--data", data)).out).toMatch(/^call_\S+ +unknown/m);
});

it("without a running one, `start --stdio` answers what was piped in at once, and ends", async () => {
  expect(await atOnce(["--data", join(cli.folder, "at-once")])).toEqual(answeredAtOnce);
});

it("without a running one, `start --stdio` serves pipes and HTTP, so that a person can still decide", async () => {
  const data = join(cli.folder, "piped");
  const { child, end } = cli.open(["start", "--stdio", "--data", data]);
  child.stdin?.write(initialize);
  await once(child.stdout ?? child, "data");
  expect((await cli.run("tools", "--data", data)).out).toContain("echo");
  child.stdin?.end();
  const { code, out } = await end;
  expect(code).toBe(0);
  expect(
    out
      .trim()
      .split("\n")
      .every((line) => JSON.parse(line).jsonrpc === "2.0"),
  ).toBe(true);
});
