import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { removeTemporaryFolder, temporaryFolder } from "./temporary-folder.ts";

const module = new URL("./temporary-folder.ts", import.meta.url).href;

/** A process of its own that makes one, says which, and ends in this way. */
function made(end: string): string {
  const script = `import { temporaryFolder } from ${JSON.stringify(module)}; console.log(temporaryFolder("probe")); ${end}`;
  try {
    return execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }).trim();
  } catch (error) {
    return (error as { readonly stdout: string }).stdout.trim(); // it was killed; what it wrote is kept
  }
}

it("is gone with its process; what a killed one has left is removed by the next", () => {
  expect(existsSync(made(""))).toBe(false);
  const left = made("process.kill(process.pid, 'SIGKILL');");
  const living = temporaryFolder("other");
  const elsewhere = ownFolder();
  const link = join(tmpdir(), `postern-probe-999999999-link`);
  symlinkSync(elsewhere, link);
  expect(existsSync(left)).toBe(true);
  const mine = temporaryFolder("probe");
  expect([left, living, elsewhere, link, mine].map((path) => existsSync(path))).toEqual([
    false,
    true,
    true,
    true,
    true,
  ]);
  mkdirSync(join(mine, "in", "it"), { recursive: true });
  for (const folder of [mine, living, link]) removeTemporaryFolder(folder);
  expect([mine, living, link].map((path) => existsSync(path))).toEqual([false, false, false]);
  expect(existsSync(elsewhere)).toBe(true);
});
