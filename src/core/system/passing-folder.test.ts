import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../../../test/fakes/own-folder.ts";
import { passingFolder, removePassing } from "./passing-folder.ts";

const module = new URL("./passing-folder.ts", import.meta.url).href;

/** A process of its own that makes one, says which, and ends in this way. */
function made(end: string): string {
  const script = `import { passingFolder } from ${JSON.stringify(module)}; console.log(passingFolder("probe")); ${end}`;
  try {
    return execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }).trim();
  } catch (error) {
    return (error as { readonly stdout: string }).stdout.trim(); // it was killed; what it wrote is kept
  }
}

it("is gone with its process; what a killed one has left is removed by the next", () => {
  expect(existsSync(made(""))).toBe(false);
  const left = made("process.kill(process.pid, 'SIGKILL');");
  const living = passingFolder("other");
  const elsewhere = ownFolder();
  const link = join(tmpdir(), `postern-probe-999999999-link`);
  symlinkSync(elsewhere, link);
  expect(existsSync(left)).toBe(true);
  const mine = passingFolder("probe");
  expect([left, living, elsewhere, link, mine].map((path) => existsSync(path))).toEqual([
    false,
    true,
    true,
    true,
    true,
  ]);
  mkdirSync(join(mine, "in", "it"), { recursive: true });
  for (const folder of [mine, living, link]) removePassing(folder);
  expect([mine, living, link].map((path) => existsSync(path))).toEqual([false, false, false]);
  expect(existsSync(elsewhere)).toBe(true);
});
