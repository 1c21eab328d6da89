import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { Groups } from "@postern/core/system";
import { expect, it } from "vitest";

using here = Groups.open(`postern-probe-${process.pid}`, 256);

it.runIf(here !== undefined)("reports that the kernel ended a process for its memory", async () => {
  using groups = Groups.open(`postern-probe-memory-${process.pid}`, 256);
  if (groups === undefined) throw new Error("There are no control groups.");
  const grows =
    "process.stdin.once('data', () => { for (const kept = []; ; ) kept.push(Buffer.alloc(8 << 20, 1)); }); console.log(1)";
  const { command, args } = groups.commandInside(process.execPath, ["-e", grows]);
  const child = spawn(command, args);
  await once(child.stdout, "data");
  const { pid = 0 } = child;
  groups.limitMemory(pid, 96 << 20);
  child.stdin.write("go");
  const [, signal] = await once(child, "exit");
  expect([signal, groups.ranOutOfMemory(pid)]).toEqual(["SIGKILL", true]);
  groups.remove(pid);
});

it.runIf(here !== undefined)("removes the control groups of a Postern that was killed", () => {
  const left = `${here?.entries[0]}/../postern-children-${2 ** 22 + 1}`;
  mkdirSync(`${left}/7`, { recursive: true });
  Groups.open(`postern-probe-again-${process.pid}`, 256)?.[Symbol.dispose]();
  expect(existsSync(left)).toBe(false);
});
