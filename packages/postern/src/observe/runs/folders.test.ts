import { lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { RuntimeFault } from "@postern/core";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { folderName, openRunFolders } from "./folders.ts";

function emptyFolder(): string {
  return ownFolder();
}

const noId = /^request_invalid: .* is no run's id/;

/** The code of the fault and its message. */
function faultOf(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    return error instanceof RuntimeFault ? `${error.code}: ${error.message}` : String(error);
  }
}

it("makes the run's folder with its four parts, only for the owner, and finds it again", () => {
  const base = join(emptyFolder(), "deep", "runs");
  const folder = openRunFolders(base).open("default", "run_1");

  expect(basename(folder)).toBe("run_1");
  expect(readdirSync(folder).sort()).toEqual(["archive", "deliverables", "logs", "workspace"]);
  expect(lstatSync(folder).mode & 0o777).toBe(0o700);
  expect(lstatSync(join(folder, "logs")).mode & 0o777).toBe(0o700);
  writeFileSync(join(folder, "workspace", "kept"), "x");
  expect(openRunFolders(base).open("default", "run_1")).toBe(folder);
  expect(readdirSync(join(folder, "workspace"))).toEqual(["kept"]);
});

it.each([
  "",
  "..",
  ".",
  "../x",
  "a/b",
  "/etc",
  "a\0b",
  "a b",
  "ä",
  "~",
  "x~y",
  "a".repeat(65),
  "run_1\n",
  "%2e%2e",
  "a\\b",
])("refuses the run id %j and makes nothing", (runId) => {
  const base = emptyFolder();
  expect(faultOf(() => openRunFolders(base).open("default", runId))).toMatch(noId);
  expect(readdirSync(base)).toEqual([]);
});

it("refuses a run id that is no text", () => {
  for (const runId of [undefined, null, 7, {}, ["run_1"]]) {
    expect(faultOf(() => folderName("default", runId as never))).toMatch(noId);
  }
});

it("finds an existing folder of a run, and makes none for a reader", () => {
  const base = emptyFolder();
  const folders = openRunFolders(base);
  expect(folders.find("default", "run_1")).toBeUndefined();
  expect(readdirSync(base)).toEqual([]);
  expect(folders.open("default", "run_1")).toBe(folders.find("default", "run_1"));
  expect(faultOf(() => folders.find("default", "../x"))).toMatch(noId);
});

it.each(["", "workspace", "logs"])("refuses a link instead of the run's folder or of %j in it", (part) => {
  const base = emptyFolder();
  const outside = emptyFolder();
  const folders = openRunFolders(base);
  if (part !== "") mkdirSync(join(base, "run_1"));
  symlinkSync(outside, join(base, "run_1", part));

  for (const verb of ["find", "open"] as const)
    expect(
      faultOf(() => folders[verb]("default", "run_1")),
      verb,
    ).toMatch(/^request_invalid: .* is not a folder/);
  expect(readdirSync(outside)).toEqual([]);
});

it("refuses a file instead of a folder", () => {
  const base = emptyFolder();
  writeFileSync(join(base, "run_1"), "");
  expect(faultOf(() => openRunFolders(base).open("default", "run_1"))).toMatch(/^request_invalid: .* is not a folder/);
  expect(faultOf(() => openRunFolders(join(base, "run_1")))).toMatch(
    /^config_invalid: .* cannot hold the folders of runs/,
  );
});

it("gives every tenant and run its own folder, one level below the base", async () => {
  const tenants = fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 200 }),
    fc.constantFrom("default", "..", "a/b", "a~b", "a-b", "a.b", "A", "\0", "../../etc"),
  );
  const runIds = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
  await fc.assert(
    fc.property(tenants, runIds, tenants, runIds, (tenant, run, otherTenant, otherRun) => {
      const name = folderName(tenant, run);
      expect(name).toMatch(/^[A-Za-z0-9_.~-]{1,255}$/);
      expect(name).not.toMatch(/^\.+$/);
      if (tenant !== otherTenant || run !== otherRun) expect(folderName(otherTenant, otherRun)).not.toBe(name);
    }),
    { numRuns: 500 },
  );
});
