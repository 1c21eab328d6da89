/** What this machine takes to wake two processes in turn: beneath that no call of a script can get. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** Reads and writes what a call is about as long as, and does nothing else. */
const echo = `const { readSync, writeSync } = require("node:fs");
const room = Buffer.alloc(4096);
for (let read; (read = readSync(0, room)) > 0; ) writeSync(1, room, 0, read);`;

/** Microseconds. */
export async function roundTrip(times = 5_000): Promise<number> {
  const child = spawn(process.execPath, ["-e", echo], { stdio: ["pipe", "pipe", "inherit"] });
  const said = Buffer.alloc(200);
  const there = async (): Promise<void> => {
    child.stdin.write(said);
    await once(child.stdout, "data");
  };
  for (let i = 0; i < 500; i++) await there();
  const began = performance.now();
  for (let i = 0; i < times; i++) await there();
  const microseconds = ((performance.now() - began) / times) * 1_000;
  child.stdin.end();
  await once(child, "exit");
  return microseconds;
}
