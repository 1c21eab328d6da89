import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { LegResult } from "./conformance/legs.ts";
import { problemsOf } from "./conformance/report.ts";

/** The harness as a process, with an attacker that does nothing. */
async function idle(
  program: string,
  ...words: readonly string[]
): Promise<{ readonly code: unknown; readonly err: string }> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const running = spawn(process.execPath, [path, ...words, "--idle"], { stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  running.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  running.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const [code] = await once(running, "close");
  return { code, err: out + err };
}

it("the race fails when its attacker swaps nothing", async () => {
  const { code, err } = await idle("race/files.ts", "--seconds", "0.05", "--only", "read");
  expect([code, err]).toEqual([1, expect.stringMatching(/PROBLEM read, folder, walk: the attacker made 0 swaps/)]);
});

it("the race fails when it has nothing to race", async () => {
  const { code, err } = await idle("race/files.ts", "--seconds", "0.05", "--only", "nothing");
  expect([code, err]).toEqual([1, expect.stringContaining("names no operation")]);
});

it("the canary fails when nothing is called", async () => {
  const { code, err } = await idle("canary/run.ts", "--canaries", "1");
  expect([code, err]).toEqual([1, expect.stringContaining("PROBLEM No call was made.")]);
});

it("the crash run fails when no process is killed at its point", async () => {
  const { code, err } = await idle("crash/run.ts", "--kills", "2", "--folders", "1");
  expect([code, err]).toEqual([1, expect.stringMatching(/never came by its point.*nothing was killed/s)]);
});

it("the conformance run fails for what a revision requires, and for what no reason is stated for", () => {
  const leg = { leg: "server", revision: "2026-07-28", required: 37, warned: new Map() } as const;
  const failing = (name: string): LegResult => ({ ...leg, failed: new Map([[name, ["check: wrong"]]]) });
  const problems = problemsOf({ legs: [failing("ping")], mixed: [{ ...failing("pong"), upstream: "2025-11-25" }] });
  expect(problems).toEqual(
    expect.arrayContaining([
      "server 2026-07-28, ping: check: wrong",
      "server 2026-07-28, pong: check: wrong",
      expect.stringMatching(/^input-required-result-basic-elicitation: it passes, and/),
    ]),
  );
});
