/** A line of one gibibyte, from a client and from a server: it is dropped without being stored. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, it } from "vitest";
import { PosternProcess } from "../../fakes/postern-process.ts";

const mebibyte = 2 ** 20;
const lineMebibytes = 1_024;
/** A quarter of the line. Pieces of the pipe that wait for the garbage collector take 70 to 140 MiB, however long the line. */
const mostGrowthMebibytes = 256;
const postern = new PosternProcess();
afterAll(() => postern[Symbol.dispose]());

/** Before it answers a call, it writes the line. */
const server = `
const { createInterface } = require("node:readline");
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
const part = Buffer.alloc(${mebibyte}, "x");
createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "initialize") say(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
  else if (method === "tools/list") say(id, { tools: [{ name: "long", inputSchema: { type: "object" } }] });
  else if (method === "tools/call") {
    for (let i = 0; i < ${lineMebibytes}; i += 1) if (!process.stdout.write(part)) await new Promise((go) => process.stdout.once("drain", go));
    process.stdout.write("\\n");
    say(id, { content: [{ type: "text", text: "after the line" }] });
  } else if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
});`;

/** In mebibytes: how much memory a process has (`VmRSS`), or had at most (`VmHWM`). */
function memoryOf({ pid }: ChildProcess, which: "VmRSS" | "VmHWM"): number {
  const [, kibibytes] = new RegExp(`${which}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) / 1_024;
}

const call = (id: number, name: string, given: object): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: given } })}\n`;

it("takes no more memory, and the next line is served", { timeout: 120_000 }, async () => {
  const config = join(postern.folder, "long.yaml");
  const servers = { s: { command: process.execPath, args: ["-e", server], risk: "safe" } };
  writeFileSync(config, JSON.stringify({ tools: { modules: ["./tools.ts"] }, listen: { port: 0 }, servers })); // JSON is YAML
  const { child, end } = postern.open(["start", "--stdio", "--data", join(postern.folder, "long"), "--config", config]);
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("It has no pipes.");
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value));
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  expect(await next()).toMatchObject({ id: 1, result: {} });
  stdin.write(call(2, "echo", { text: "warm" }));
  expect(await next()).toMatchObject({ id: 2, result: { isError: false } });

  writeFileSync(`/proc/${child.pid}/clear_refs`, "5"); // the most memory counts from now on
  const before = memoryOf(child, "VmRSS");
  const part = Buffer.alloc(mebibyte, "x");
  for (let i = 0; i < lineMebibytes; i += 1) if (!stdin.write(part)) await once(stdin, "drain");
  stdin.write(`\n${call(3, "echo", { text: "still here" })}`);
  expect(await next()).toMatchObject({ id: null, error: { message: expect.stringContaining("bytes at most") } });
  expect(await next()).toMatchObject({ id: 3, result: { content: [{ text: "still here" }] } });
  expect(memoryOf(child, "VmHWM") - before).toBeLessThan(mostGrowthMebibytes);

  stdin.write(call(4, "s__long", {}));
  expect(await next()).toMatchObject({ id: 4 });
  expect(memoryOf(child, "VmHWM") - before).toBeLessThan(mostGrowthMebibytes);
  child.kill("SIGTERM");
  await end;
});
