import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { createWhole, readWhole, writeWhole, writeWholeUnsynced } from "./whole-file.ts";

describe.each([
  ["synced", writeWhole],
  ["not synced", writeWholeUnsynced],
])("a file that is there whole or not at all, %s", (_, write) => {
  it("takes the place of what was there, for its owner alone, and leaves nothing beside it", async () => {
    const folder = ownFolder();
    const path = join(folder, "one.txt");
    writeFileSync(path, "old", { mode: 0o644 });
    await write(path, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["one.txt"]);
  });

  it("takes the place of a link, and writes nothing where that leads", async () => {
    const folder = ownFolder();
    const [path, elsewhere] = [join(folder, "link"), join(folder, "elsewhere")];
    writeFileSync(elsewhere, "theirs");
    symlinkSync(elsewhere, path);
    await write(path, "ours");
    expect(readFileSync(elsewhere, "utf8")).toBe("theirs");
    expect(readFileSync(path, "utf8")).toBe("ours");
  });

  it("leaves nothing when it cannot take its place", async () => {
    const folder = ownFolder();
    mkdirSync(join(folder, "taken", "by a folder"), { recursive: true });
    await expect(write(join(folder, "taken"), "new")).rejects.toMatchObject({ code: expect.any(String) });
    expect(readdirSync(folder)).toEqual(["taken"]);
  });
});

describe("a file that is not there", () => {
  it("is read as undefined, and a link to another is refused", async () => {
    const folder = ownFolder();
    const [path, elsewhere] = [join(folder, "link"), join(folder, "elsewhere")];
    expect(await readWhole(path)).toBeUndefined();
    writeFileSync(elsewhere, "theirs");
    symlinkSync(elsewhere, path);
    await expect(readWhole(path)).rejects.toMatchObject({ code: "ELOOP" });
    expect(await readWhole(elsewhere)).toBe("theirs");
  });

  it("is written also if a crash left a part of it", async () => {
    const folder = ownFolder();
    writeFileSync(join(folder, "one.txt.new"), "a pa");
    await writeWholeUnsynced(join(folder, "one.txt"), "whole");
    expect(readdirSync(folder)).toEqual(["one.txt"]);
    expect(readFileSync(join(folder, "one.txt"), "utf8")).toBe("whole");
  });

  it("is made but once, however many try at the same moment", async () => {
    const folder = ownFolder();
    const path = join(folder, "key");
    const made = await Promise.all(["a", "b", "c", "d"].map((text) => createWhole(path, Buffer.from(text))));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(readFileSync(path, "utf8")).toBe("abcd"[made.indexOf(true)]);
    expect(readdirSync(folder)).toEqual(["key"]);
  });
});
