/** What this machine takes to wake two processes in turn: beneath that no call of a script can get. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { median } from "./harness.ts";

/** Reads and writes what a call is about as long as, and does nothing else. */
const echo = `const { readSync, writeSync } = require("node:fs");
const room = Buffer.alloc(4096);
for (let read; (read = readSync(0, room)) > 0; ) writeSync(1, room, 0, read);`;

/** Microseconds. */
export interface RoundTrip {
  /** After a pause, as a script begins: Linux has both on one processor. */
  readonly atFirst: number;
  /** From some 60 ms on each has a processor of its own, and has to wake it. */
  readonly later: number;
}

const times = 10;
const pauseMs = 400;
const firstMs = 40;
const [laterMs, endMs] = [100, 200];

export async function roundTrip(): Promise<RoundTrip> {
  const child = spawn(process.execPath, ["-e", echo], { stdio: ["pipe", "pipe", "inherit"] });
  const said = Buffer.alloc(200);
  const there = async (): Promise<void> => {
    child.stdin.write(said);
    await once(child.stdout, "data");
  };
  for (let i = 0; i < 500; i++) await there();
  const atFirst: number[] = [];
  const later: number[] = [];
  for (let i = 0; i < times; i++) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    for (const began = performance.now(); ; ) {
      const sent = performance.now();
      if (sent - began > endMs) break;
      await there();
      const microseconds = (performance.now() - sent) * 1_000;
      if (sent - began < firstMs) atFirst.push(microseconds);
      else if (sent - began > laterMs) later.push(microseconds);
    }
  }
  child.stdin.end();
  await once(child, "exit");
  return { atFirst: median(atFirst), later: median(later) };
}
