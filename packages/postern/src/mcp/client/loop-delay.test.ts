import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { createRuntime, type Runtime, type ServerConfig } from "../../index.ts";

/** Answers so many rows: 30 MB as JSON (test/fakes/large-server.ts). */
const rows = 550_000;

/** The longest time in which nothing else ran while `work` was under way, in milliseconds. */
async function longestPause(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = performance.now();
  const beat = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
  }, 1);
  await work();
  clearInterval(beat);
  return longest;
}

async function timeOf(work: () => unknown): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

async function connected(way: string): Promise<Runtime> {
  const args = ["test/fakes/large-server.ts"];
  const open = async (server: ServerConfig): Promise<Runtime> => {
    const one = { ...server, risk: "safe" } as const;
    const runtime = await createRuntime({ servers: { one }, results: { maxBytes: 64 * 2 ** 20 } });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  if (way === "pipes") return open({ command: process.execPath, args });
  const child = spawn(process.execPath, [...args, "http"], { stdio: ["ignore", "ignore", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [port] = (await once(child.stderr, "data")) as [Buffer];
  return open({ url: `http://127.0.0.1:${port.toString().trim()}/mcp` });
}

it.each(["pipes", "stream", "json"])(
  "an answer of 30 MB over %s stops other calls for less time than it takes to parse",
  async (as) => {
    const runtime = await connected(as);
    const answer = JSON.stringify(Array.from({ length: rows }, (_, at) => ({ at, name: "somebody", list: [at] })));
    const call = (count: number) => runtime.invoke({ tool: "one__large", arguments: { rows: count, as } });
    await call(50_000); // the worker thread starts
    const compared = async (): Promise<number> => {
      const parsing = await timeOf(() => JSON.stringify(JSON.parse(answer)));
      const paused = await longestPause(async () => {
        expect(await call(rows)).toMatchObject({ status: "ok", structured: { keys: ["rows", "total"] } });
      });
      return paused / parsing;
    };
    expect(Math.min(await compared(), await compared())).toBeLessThan(1); // the lesser: other programs pause it too
  },
);
