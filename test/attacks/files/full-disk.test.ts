import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Disk, realDisk } from "../../../packages/postern/src/builtin/files/disk.ts";
import { fileToolsOn } from "../../../packages/postern/src/builtin/files/files.ts";
import { descriptors, type FileFixture, fileFixture, put } from "./file-fixture.ts";

/** A disk that fails from its n-th operation on; each write before writes a few bytes less. */
function failing(code: string, room: number): Disk {
  let done = 0;
  const fail = (): void => {
    done += 1;
    if (done > room)
      throw Object.assign(new Error(`${code}: no room, write '/proc/self/fd/9/x'`), { code, syscall: "write" });
  };
  return {
    write: async (descriptor, bytes) => {
      fail();
      return realDisk.write(descriptor, bytes.subarray(0, 5));
    },
    sync: async (descriptor) => {
      fail();
      return realDisk.sync(descriptor);
    },
    syncData: async (descriptor) => {
      fail();
      return realDisk.syncData(descriptor);
    },
    truncate: realDisk.truncate,
    rename: async (from, to) => {
      fail();
      return realDisk.rename(from, to);
    },
  };
}

const old = "what was there before";
const more = "and twelve more bytes";
const changes = {
  write_file: [{ path: "a.txt", content: more }, more],
  edit_file: [{ path: "a.txt", old_text: "was", new_text: "is not" }, old.replace("was", "is not")],
  append_file: [{ path: "a.txt", content: more }, old + more],
} as const;

async function attempt(
  tool: keyof typeof changes,
  code: string,
  room: number,
): Promise<readonly [status: string, kept: string, h: readonly string[]]> {
  await using h: FileFixture = await fileFixture({ tools: (options) => fileToolsOn(options, failing(code, room)) });
  put(join(h.workspace, "a.txt"), old);
  const before = descriptors();
  const outcome = await h.call(tool, changes[tool][0]);
  expect(descriptors()).toBe(before);
  expect(outcome.text).not.toContain("/proc");
  if (outcome.status === "error")
    expect(outcome.structured).toMatchObject({ rejected: code === "ENOSPC" ? "disk_full" : "io_failed" });
  return [outcome.status, readFileSync(join(h.workspace, "a.txt"), "utf8"), readdirSync(h.workspace)];
}

describe.each(["ENOSPC", "EIO"])("a disk that answers %s from any operation on", (code) => {
  it.each(["write_file", "edit_file", "append_file"] as const)(
    "%s leaves the old content or the new one, whole, and no draft",
    async (tool) => {
      const after = changes[tool][1];
      let failed = 0;
      for (let room = 0; room < 40; room += 1) {
        const [status, kept, names] = await attempt(tool, code, room);
        expect([room, names]).toEqual([room, ["a.txt"]]);
        expect([room, [old, after].includes(kept)]).toEqual([room, true]);
        if (status === "ok") {
          expect(kept).toBe(after);
          expect(failed).toBeGreaterThan(4);
          return;
        }
        failed += 1;
      }
      expect.unreachable("it never had room enough");
    },
  );
});
