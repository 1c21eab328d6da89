import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { makeOwnFolder } from "./own-folder.ts";

const folder = ownFolder();

it("makes a folder and the parents it lacks, for their owner, and tells the topmost", () => {
  const path = join(folder, "a", "b", "c");
  expect(makeOwnFolder(path)).toBe(join(folder, "a"));
  expect(makeOwnFolder(path)).toBeUndefined();
  for (const made of ["a", "a/b", "a/b/c"]) expect(statSync(join(folder, made)).mode & 0o777).toBe(0o700);
  mkdirSync(join(folder, "open"), 0o755);
  expect(makeOwnFolder(join(folder, "open", "inner"))).toBe(join(folder, "open", "inner"));
  expect(statSync(join(folder, "open")).mode & 0o777).toBe(0o755);
});

it("refuses a file in its place or above it", () => {
  writeFileSync(join(folder, "file"), "");
  expect(() => makeOwnFolder(join(folder, "file"))).toThrow("EEXIST");
  expect(() => makeOwnFolder(join(folder, "file", "below"))).toThrow("EEXIST");
});

it.runIf(process.platform === "linux")("ends where the kernel forbids new folders", () => {
  expect(() => makeOwnFolder("/proc/nothere/below")).toThrow(/ENOENT|EACCES|EPERM/);
});
