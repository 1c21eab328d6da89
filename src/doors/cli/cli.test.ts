import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../../..");
const bin = join(root, "bin/postern.js");
const folder = mkdtempSync(join(tmpdir(), "postern-cli-"));
const ran = join(folder, "ran");

beforeAll(() => {
  writeFileSync(
    join(folder, "tools.ts"),
    `import { appendFileSync } from "node:fs";
import { defineTool } from ${JSON.stringify(join(root, "src/tools/define.ts"))};
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"], additionalProperties: false };
export const echo = defineTool({ name: "echo", description: "Says it again.", risk: "safe", idempotent: true, inputSchema: text, execute: ({ text }) => text });
export const send = defineTool({ name: "send", description: "Sends it.", risk: "high", idempotent: false, inputSchema: text,
  preview: ({ text }) => ({ summary: "would send " + text }),
  execute: ({ text }) => { appendFileSync(${JSON.stringify(ran)}, text + "\\n"); return "sent " + text; } });
export const wipe = defineTool({ name: "wipe", description: "Wipes.", risk: "critical", effects: "write", idempotent: false, inputSchema: { type: "object" }, execute: () => "wiped" });
export const fail = defineTool({ name: "fail", description: "Fails.", risk: "safe", idempotent: true, inputSchema: { type: "object" }, execute: () => { throw new Error("no luck"); } });
`,
  );
  writeFileSync(
    join(folder, "postern.yaml"),
    "tools:\n  modules: [./tools.ts]\nlisten:\n  port: 0\n",
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function command(words: readonly string[], cwd = folder): ChildProcess {
  const { POSTERN_PORT: _, POSTERN_DATA: __, POSTERN_CONFIG: ___, ...environment } = process.env;
  return spawn(process.execPath, [bin, ...words], {
    cwd,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function postern(...words: readonly string[]): Promise<Ended> {
  return ended(command(words));
}

async function ended(child: ChildProcess): Promise<Ended> {
  let out = "";
  let err = "";
  child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (err += chunk.toString()));
  await once(child, "close");
  return { code: child.exitCode, out, err };
}

async function started(
  data: string,
): Promise<{ readonly child: ChildProcess; readonly end: Promise<Ended> }> {
  const child = command(["start", "--data", data]);
  const end = ended(child);
  const ready = new Promise<void>((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("Try next")) resolve();
    });
    void end.then(({ err }) => reject(new Error(err)));
  });
  await ready;
  return { child, end };
}

function runs(): readonly string[] {
  return existsSync(ran) ? readFileSync(ran, "utf8").trim().split("\n") : [];
}

it("helps and tells its version quickly, without loading what it does not need", async () => {
  const help = await postern("--help");
  expect(help).toMatchObject({ code: 0, err: "" });
  for (const word of [
    "start",
    "call",
    "tools",
    "approvals",
    "calls",
    "audit",
    "controls",
    "doctor",
    "Exit codes",
  ])
    expect(help.out).toContain(word);
  expect((await postern("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it("typed wrong ends with 2 and one sentence that helps", async () => {
  const typed = await postern("tools", "--port", "http");
  expect(typed).toMatchObject({ code: 2, out: "" });
  expect(typed.err).toBe(
    "postern: command line --port: `http` is not a port. Fix: Write a whole number from 0 to 65535; 0 takes a free one.\n",
  );
  expect((await postern("calls", "settle", "call_1", "failed")).code).toBe(2);
});

it("a configuration with a mistake starts nothing and says where", async () => {
  writeFileSync(join(folder, "wrong.yaml"), "tools:\n  moduls: []\n");
  const { code, err } = await postern(
    "start",
    "--config",
    "wrong.yaml",
    "--data",
    join(folder, "wrong"),
  );
  expect(code).toBe(1);
  expect(err).toBe(
    "postern: wrong.yaml:2:3 tools.moduls: `moduls` is not a known key. Fix: Did you mean `modules`?\n",
  );
  expect(existsSync(join(folder, "wrong"))).toBe(false);
});

it("a folder without configuration is not served", async () => {
  const { code, err } = await ended(command(["start"], tmpdir()));
  expect(code).toBe(1);
  expect(err).toContain("There is no configuration");
});

describe("without a running Postern", () => {
  const data = ["--data", join(folder, "inside")];

  it("each command starts one inside, and leaves its books to the next", async () => {
    expect(await postern("call", "echo", "text=12", ...data)).toEqual({
      code: 0,
      out: "12\n",
      err: "",
    });
    const calls = await postern("calls", "--json", ...data);
    expect(JSON.parse(calls.out)).toMatchObject({
      calls: [{ tool: "echo", state: "ok", arguments: { text: "12" } }],
    });
  });

  it("a call that needs a person stays open, is approved later, and runs once", async () => {
    const asked = await postern("call", "send", "text=hi", "--json", ...data);
    expect(asked.code).toBe(4);
    const { status, approval_id: id }: { status: string; approval_id: string } = JSON.parse(
      asked.out,
    );
    expect(status).toBe("pending");
    expect(runs()).toEqual([]);
    const approved = await postern("approvals", "approve", id, "--reason", "fine", ...data);
    expect(approved).toMatchObject({ code: 0, err: "" });
    expect(approved.out).toContain("would send hi");
    expect(runs()).toEqual([]);
    expect(await postern("call", "send", "text=hi", ...data)).toMatchObject({
      code: 0,
      out: "sent hi\n",
    });
    const again = await postern("call", "send", "text=hi", ...data);
    expect(again.err).toContain("Not run again");
    expect(runs()).toEqual(["hi"]);
    expect(await postern("approvals", "approve", id, ...data)).toMatchObject({ code: 1 });
  });

  it("without a terminal nothing prompts: waiting is a denial at once", async () => {
    const began = performance.now();
    const { code, err } = await postern("call", "send", "text=other", "--wait", "60", ...data);
    expect(code).toBe(3);
    expect(err).toContain("approval_unavailable");
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(runs()).not.toContain("other");
  });

  it("ends with 3 when denied, 1 when failed", async () => {
    expect(await postern("call", "wipe", ...data)).toMatchObject({
      code: 3,
      err: expect.stringContaining("blocked"),
    });
    expect(await postern("call", "fail", ...data)).toMatchObject({
      code: 1,
      err: expect.stringContaining("no luck"),
    });
    expect(await postern("call", "constructor", ...data)).toMatchObject({
      code: 1,
      err: expect.stringContaining("tool_unknown"),
    });
  });

  it("the log verifies, an export verifies alone, and a changed one does not", async () => {
    const verified = await postern("audit", "verify", "--json", ...data);
    expect(verified.code).toBe(0);
    expect(JSON.parse(verified.out)).toMatchObject({
      intact: true,
      head: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const note = join(folder, "note");
    writeFileSync(note, (await postern("audit", "checkpoint", ...data)).out);
    const file = join(folder, "export");
    expect((await postern("audit", "export", file, ...data)).code).toBe(0);
    expect((await postern("audit", "export", file, ...data)).err).toContain("not there yet");
    expect(await postern("audit", "verify", file, "--against", note)).toMatchObject({
      code: 0,
      out: expect.stringContaining("intact"),
    });
    writeFileSync(file, readFileSync(file, "utf8").replace("echo", "ecco"));
    expect(await postern("audit", "verify", file)).toMatchObject({
      code: 1,
      out: expect.stringContaining("BROKEN"),
    });
    expect(await postern("audit", "verify", "--against", note, ...data)).toMatchObject({ code: 0 });
  });

  it("doctor finds nothing wrong, and then names what is", async () => {
    const healthy = await postern("doctor", "--json", ...data);
    expect(healthy.code).toBe(0);
    const { findings }: { findings: { level: string; check: string }[] } = JSON.parse(healthy.out);
    expect(findings.map(({ check }) => check)).toEqual([
      "node",
      "configuration",
      "data folder",
      "agent.token",
      "operator.token",
      "audit.key",
      "clock",
      "reach",
      "port",
      "store",
    ]);
    expect(findings.every(({ level }) => level === "ok")).toBe(true);
    writeFileSync(
      join(folder, "reach.yaml"),
      "servers:\n  files:\n    command: node\n    args: [-e, '0', .]\n    enabled: false\n",
    );
    const reach = await postern("doctor", "--config", "reach.yaml", ...data);
    expect(reach.code).toBe(1);
    expect(reach.out).toMatch(
      /fail {2}reach +Server `files` is given .* which shares files with the data folder/,
    );
    writeFileSync(join(folder, "wrong.yaml"), "autonomie: A1\n");
    expect(await postern("doctor", "--config", "wrong.yaml", ...data)).toMatchObject({
      code: 1,
      out: expect.stringContaining("wrong.yaml:1:1 autonomie"),
    });
  });
});

describe("with a running Postern", () => {
  const data = join(folder, "running");
  const to = ["--data", data];
  let running: Awaited<ReturnType<typeof started>>;
  beforeAll(async () => {
    running = await started(data);
  });
  afterAll(() => void running.child.kill("SIGKILL"));

  it("says where it is, what is offered, at which risk, and three commands that work", async () => {
    const tools = await postern("tools", ...to);
    expect(tools.out).toMatch(/^echo +safe +runs/m);
    expect(tools.out).toMatch(/^send +high +asks/m);
    expect(tools.out).toMatch(/^wipe +critical +blocked/m);
    expect(statSync(join(data, "server.json")).mode & 0o777).toBe(0o600);
    expect(statSync(data).mode & 0o777).toBe(0o700);
  });

  it("commands are its clients: a waiting call is decided from elsewhere, as the operator", async () => {
    const waiting = postern("call", "send", "text=wait", "--wait", "30", ...to);
    let approvals: { approvals: { approval_id: string }[] } = { approvals: [] };
    while (approvals.approvals.length === 0)
      approvals = JSON.parse((await postern("approvals", "list", "--json", ...to)).out);
    const [first] = approvals.approvals;
    expect(
      (
        await postern(
          "approvals",
          "modify",
          first?.approval_id ?? "",
          "--arguments",
          '{"text":"edited"}',
          ...to,
        )
      ).code,
    ).toBe(0);
    expect(await waiting).toMatchObject({ code: 0, out: "sent edited\n" });
  });

  it("a denial reaches the caller with its reason", async () => {
    const asked = await postern("call", "send", "text=no", "--json", ...to);
    const { approval_id: id }: { approval_id: string } = JSON.parse(asked.out);
    expect((await postern("approvals", "deny", id, "--reason", "not today", ...to)).code).toBe(0);
    expect(await postern("call", "send", "text=no", ...to)).toMatchObject({
      code: 3,
      err: expect.stringContaining("not today"),
    });
  });

  it("controls are durable, take effect at once and keep their history", async () => {
    expect((await postern("controls", "pause", "--reason", "lunch", ...to)).out).toContain(
      "paused",
    );
    expect(await postern("call", "echo", "text=a", ...to)).toMatchObject({
      code: 1,
      err: expect.stringContaining("paused"),
    });
    await postern("controls", "resume", ...to);
    await postern("controls", "tool", "echo", "off", ...to);
    expect(await postern("call", "echo", "text=a", ...to)).toMatchObject({
      code: 1,
      err: expect.stringContaining("tool_unavailable"),
    });
    await postern("controls", "tool", "echo", "on", ...to);
    expect((await postern("controls", "autonomy", "a1", ...to)).out).toContain("A1");
    expect((await postern("call", "echo", "text=a", ...to)).code).toBe(4);
    const { changes }: { changes: { change: string; by: string }[] } = JSON.parse(
      (await postern("controls", "history", "--json", ...to)).out,
    );
    expect(changes.map(({ change }) => change)).toEqual([
      "autonomy",
      "tool_on",
      "tool_off",
      "resume",
      "pause",
    ]);
    expect(new Set(changes.map(({ by }) => by))).toEqual(new Set(["operator"]));
    await postern("controls", "autonomy", "A2", ...to);
  });

  it("a second start on the same folder says who is there", async () => {
    const { code, err } = await postern("start", ...to);
    expect(code).toBe(1);
    expect(err).toMatch(/runs already on .*: http:\/\/127\.0\.0\.1:\d+ \(process \d+\)/);
  });

  it("speaks MCP over pipes, through the running one", async () => {
    const child = spawn(process.execPath, [bin, "start", "--stdio", ...to], {
      cwd: folder,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const end = ended(child);
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    };
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`,
    );
    await once(child.stdout, "data");
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`,
    );
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "echo", arguments: { text: "piped" } } })}\n`,
    );
    await once(child.stdout, "data");
    child.stdin.end();
    const { code, out } = await end;
    expect(code).toBe(0);
    const answers = out
      .trim()
      .split("\n")
      .map((line): { id: number } => JSON.parse(line));
    expect(answers.find(({ id }) => id === 2)).toMatchObject({
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

it("without a running one, `start --stdio` serves pipes and HTTP, so that a person can still decide", async () => {
  const data = join(folder, "piped");
  const child = spawn(process.execPath, [bin, "start", "--stdio", "--data", data], {
    cwd: folder,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const end = ended(child);
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  await once(child.stdout, "data");
  expect((await postern("tools", "--data", data)).out).toContain("echo");
  child.stdin.end();
  const { code, out } = await end;
  expect(code).toBe(0);
  expect(
    out
      .trim()
      .split("\n")
      .every((line) => JSON.parse(line).jsonrpc === "2.0"),
  ).toBe(true);
});
