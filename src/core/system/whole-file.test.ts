import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../test/fakes/own-folder.ts";
import { createWhole, writeWhole } from "./whole-file.ts";

describe("a file that is there whole or not at all", () => {
  it("takes the place of what was there, for its owner alone, and leaves nothing beside it", async () => {
    const folder = ownFolder();
    const path = join(folder, "one.txt");
    writeFileSync(path, "old", { mode: 0o644 });
    await writeWhole(path, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["one.txt"]);
  });

  it("takes the place of a link, and writes nothing where that leads", async () => {
    const folder = ownFolder();
    const [path, elsewhere] = [join(folder, "link"), join(folder, "elsewhere")];
    writeFileSync(elsewhere, "theirs");
    symlinkSync(elsewhere, path);
    await writeWhole(path, "ours");
    expect(readFileSync(elsewhere, "utf8")).toBe("theirs");
    expect(readFileSync(path, "utf8")).toBe("ours");
  });

  it("leaves nothing when it cannot take its place", async () => {
    const folder = ownFolder();
    mkdirSync(join(folder, "taken", "by a folder"), { recursive: true });
    await expect(writeWhole(join(folder, "taken"), "new")).rejects.toMatchObject({ code: expect.any(String) });
    expect(readdirSync(folder)).toEqual(["taken"]);
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
