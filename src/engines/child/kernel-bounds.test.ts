import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { expect, it } from "vitest";
import { Groups } from "../../core/system/groups.ts";
import { KernelBounds } from "./kernel-bounds.ts";

using here = Groups.open(`postern-probe-${process.pid}`);

it.runIf(here !== undefined)("reports that the kernel ended a process for its memory", async () => {
  using groups = Groups.open(`postern-probe-memory-${process.pid}`);
  if (groups === undefined) throw new Error("There are no control groups.");
  const grows =
    "process.stdin.once('data', () => { for (const kept = []; ; ) kept.push(Buffer.alloc(8 << 20, 1)); }); console.log(1)";
  const { command, args } = groups.around(process.execPath, ["-e", grows]);
  const child = spawn(command, args);
  await once(child.stdout, "data");
  using bounds = new KernelBounds(groups, child.pid ?? 0);
  bounds.allow(96 << 20);
  child.stdin.write("go");
  const [, signal] = await once(child, "exit");
  expect([signal, bounds.wasShort]).toEqual(["SIGKILL", true]);
});

it.runIf(here !== undefined)("what a Postern left that was killed, the next one takes away", () => {
  const left = `${here?.entries[0]}/../postern-children-${2 ** 22 + 1}`;
  mkdirSync(`${left}/7`, { recursive: true });
  Groups.open(`postern-probe-again-${process.pid}`)?.[Symbol.dispose]();
  expect(existsSync(left)).toBe(false);
});
