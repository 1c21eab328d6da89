import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { lyingChild } from "../../../../test/fakes/lying-child.ts";
import { SandboxProcess } from "./child-process.ts";
import { Groups } from "./groups.ts";
import { KernelBounds } from "./kernel-bounds.ts";

using here = Groups.open(`postern-probe-${process.pid}`);
const groupsOf = (pid: number): string => readFileSync(`/proc/${pid}/cgroup`, "latin1");

it.runIf(here !== undefined)("what grows beyond its bound is ended by the kernel, and told as that", async () => {
  const grows = "process.stdin.once('data', () => { for (const kept = []; ; ) kept.push(Buffer.alloc(8 << 20, 1)); })";
  const child = spawn(process.execPath, ["-e", grows]);
  using bounds = await KernelBounds.around(child.pid ?? 0);
  bounds?.allow(96 << 20);
  child.stdin.write("go");
  const [, signal] = await once(child, "close");
  expect([signal, bounds?.wasShort]).toEqual(["SIGKILL", true]);
});

it.runIf(here !== undefined)("a closed sandbox is in a group of its own, which goes with it", async () => {
  const child = await SandboxProcess.start({ ...lyingChild("say({})"), closed: true });
  const { pid } = child;
  const group = `/postern-children-${process.pid}/${pid}`;
  expect(groupsOf(pid)).toContain(group);
  child.kill();
  await child.gone;
  expect(existsSync(`/sys/fs/cgroup/pids${group}`)).toBe(false);
});

it("one that has ended, or that we may bound nothing of, goes without", async () => {
  expect(await KernelBounds.around(2 ** 22 + 1)).toBeUndefined();
});

it.runIf(here !== undefined)("what a Postern left that was killed, the next one takes away", () => {
  const left = `${here?.entries[0]}/../postern-children-${2 ** 22 + 1}`;
  mkdirSync(`${left}/7`, { recursive: true });
  Groups.open(`postern-probe-again-${process.pid}`)?.[Symbol.dispose]();
  expect(existsSync(left)).toBe(false);
});
