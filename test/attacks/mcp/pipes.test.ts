/** The pipes of a real `postern start --stdio`, alone and joined to a running one, are as strict as HTTP. */
import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it } from "vitest";
import { readServerFile } from "../../../packages/postern/src/cli/start/server-file.ts";
import { readToken } from "../../../packages/postern/src/server/credentials.ts";
import { PosternProcess } from "../../fakes/postern-process.ts";

const postern = new PosternProcess();
afterAll(() => postern[Symbol.dispose]());

const hostile: readonly (readonly [string, string, RegExp])[] = [
  ["a name given twice", '{"seconds":0,"seconds":1}', /"seconds".* twice/],
  ["a name given twice in another spelling", '{"seconds":0,"\\u0073econds":1}', /twice/],
  ["a number that would be rounded", '{"seconds":9007199254740993}', /9007199254740993.*2\^53/],
  ["`__proto__`", '{"__proto__":{"seconds":1}}', /__proto__/],
  ["a number that would be infinite", '{"seconds":1e400}', /1e400/],
  ["half a surrogate pair", '{"seconds":0,"a":"\\ud800"}', /surrogate/],
  ["no end of nesting", `{"seconds":${"[".repeat(200)}${"]".repeat(200)}}`, /100 levels/],
];

function callOf(args: string): string {
  return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":${args}}}`;
}

/** Writes lines and reads answers, one at a time. */
class Piped implements Disposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(data: string, ...more: readonly string[]) {
    const { child } = postern.open(["start", "--stdio", "--data", data, ...more]);
    this.#child = child;
    if (child.stdout === null) throw new Error("It has no pipes.");
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  tell(line: string | Buffer): void {
    this.#child.stdin?.write(line);
    this.#child.stdin?.write("\n");
  }

  async ask(line: string | Buffer): Promise<unknown> {
    this.tell(line);
    return JSON.parse((await this.#lines.next()).value);
  }

  async greet(): Promise<void> {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    await this.ask(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }));
    this.tell('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}

async function expectStrict(piped: Piped): Promise<void> {
  for (const [what, args, message] of hostile) {
    expect(await piped.ask(callOf(args)), what).toEqual({
      jsonrpc: "2.0",
      id: 7,
      error: { code: -32_700, message: expect.stringMatching(message) },
    });
  }
  const notUtf8 = Buffer.from(callOf('{"seconds":0,"a":"\xff"}'), "latin1");
  expect(await piped.ask(notUtf8)).toMatchObject({
    id: null,
    error: { code: -32_700, message: expect.stringContaining("UTF-8") },
  });
  expect(await piped.ask(`\ufeff${callOf('{"seconds":0}')}`)).toMatchObject({ error: { code: -32_700 } });
  expect(await piped.ask(`${callOf('{"seconds":0}')}}`)).toMatchObject({ id: null, error: { code: -32_700 } });
  const echo = { name: "echo", arguments: { text: "still here" } };
  expect(await piped.ask(JSON.stringify({ jsonrpc: "2.0", id: 8, method: "tools/call", params: echo }))).toMatchObject({
    id: 8,
    result: { content: [{ text: "still here" }] },
  });
  expect(postern.runs).toEqual([]);
}

it("a Postern over pipes refuses an ambiguous line, and serves the next one", async () => {
  using piped = new Piped(join(postern.folder, "alone"));
  await piped.greet();
  await expectStrict(piped);
});

it("a held call says that a person decides, and names no command for that", async () => {
  const config = join(postern.folder, "hasty.yaml");
  writeFileSync(config, "tools:\n  modules: [./tools.ts]\nlisten:\n  port: 0\nlimits:\n  approval_wait_ms: 50\n");
  const data = join(postern.folder, "elsewhere");
  using piped = new Piped(data, "--config", config);
  await piped.greet();
  const send = { name: "send", arguments: { text: "hi" } };
  const answer = await piped.ask(JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: send }));
  expect(answer).toMatchObject({
    result: {
      content: [{ text: expect.stringContaining("a person must decide it") }],
      structuredContent: { status: "approval_pending", how_to_approve: expect.stringContaining("A person decides") },
    },
  });
  expect(JSON.stringify(answer)).not.toMatch(/postern [^"]*approv/);
});

describe("pipes that join a running Postern", () => {
  const data = join(postern.folder, "joined");

  it("refuse the same lines in the same words as HTTP", async () => {
    const { child } = await postern.start(data);
    try {
      using piped = new Piped(data);
      await piped.greet();
      await expectStrict(piped);
      const url = readServerFile(data)?.url ?? "";
      const headers = {
        authorization: `Bearer ${await readToken(data, "agent")}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      for (const [, args] of hostile) {
        const there = await fetch(new URL("/mcp", url), { method: "POST", headers, body: callOf(args) });
        expect(there.status).toBe(400);
        expect(await there.json()).toEqual(await piped.ask(callOf(args)));
      }
      expect(postern.runs).toEqual([]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("say that `initialize` comes first, although pipes have no headers", async () => {
    const { child } = await postern.start(data);
    try {
      using piped = new Piped(data);
      expect(await piped.ask('{"jsonrpc":"2.0","id":3,"method":"tools/list"}')).toEqual({
        jsonrpc: "2.0",
        id: 3,
        error: { code: -32_000, message: "Send `initialize` first: nothing is answered before it." },
      });
    } finally {
      child.kill("SIGKILL");
    }
  });
});
