/** What a model may try with provider-defined tools: to leave its own folders. */
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { applyPatchTool, memoryTool, textEditorTool } from "../../../packages/agents/src/provided/provider-tools.ts";
import { type ProvidedFixture, providedFixture } from "../../fakes/provided-fixture.ts";

const outside = [
  ["goes up", "../outside.txt"],
  ["goes up inside", "a/../../outside.txt"],
  ["is absolute", "/etc/passwd"],
  ["is absolute and goes up from a root", "/workspace/../../outside.txt"],
  ["names the run's record", "logs/events.jsonl"],
  ["leads through a link", "link/outside.txt"],
  ["is a link", "file-link"],
  ["is a hard link", "hard-link"],
  ["is in .git", ".git/config"],
  ["holds a NUL", "a\0b"],
  ["is too long", "x/".repeat(3_000)],
] as const;

function setTraps({ base, workspace, put }: ProvidedFixture): void {
  writeFileSync(join(base, "outside.txt"), "secret\n");
  put("inside.txt", "secret\n");
  put(".git/config", "secret\n");
  symlinkSync(base, join(workspace, "link"));
  symlinkSync(join(base, "outside.txt"), join(workspace, "file-link"));
  linkSync(join(base, "outside.txt"), join(workspace, "hard-link"));
}

function isUntouched({ base, workspace }: ProvidedFixture): void {
  expect(readFileSync(join(base, "outside.txt"), "utf8")).toBe("secret\n");
  expect(readFileSync(join(workspace, ".git/config"), "utf8")).toBe("secret\n");
  expect(existsSync(join(base, "runs/run_1/new.txt"))).toBe(false);
}

describe.each(outside)("a patch whose path %s", (_, path) => {
  it.each([
    ["updates", { type: "update_file", path, diff: "@@\n-secret\n+changed" }],
    ["creates", { type: "create_file", path, diff: "+new" }],
    ["deletes", { type: "delete_file", path }],
  ])("%s nothing", async (_kind, operation) => {
    await using fixture = await providedFixture((options) => applyPatchTool({ ...options, delete: true }));
    setTraps(fixture);
    const { status, text } = await fixture.call("apply_patch", { operation });
    expect(["error", "denied"]).toContain(status);
    expect(text).not.toContain("secret");
    isUntouched(fixture);
  });

  it("moves nothing there and changes no file beside it", async () => {
    await using fixture = await providedFixture(applyPatchTool);
    setTraps(fixture);
    const input = `*** Begin Patch\n*** Add File: new.txt\n+n\n*** Update File: inside.txt\n*** Move to: ${path}\n@@\n-secret\n+s\n*** End Patch`;
    expect(await fixture.call("apply_patch", { input })).toMatchObject({ status: "error" });
    isUntouched(fixture);
    expect([fixture.read("inside.txt"), fixture.read("new.txt")]).toEqual(["secret\n", undefined]);
  });
});

describe.each(outside)("an edit whose path %s", (_, path) => {
  it.each([
    ["shows", { command: "view", path }],
    ["creates", { command: "create", path, file_text: "new" }],
    ["replaces", { command: "str_replace", path, old_str: "secret", new_str: "changed" }],
    ["inserts", { command: "insert", path, insert_line: 0, insert_text: "changed" }],
  ])("%s nothing", async (kind, given) => {
    await using fixture = await providedFixture(textEditorTool);
    setTraps(fixture);
    const { status, text } = await fixture.call("str_replace_based_edit_tool", given);
    const mayRead = kind === "shows" && path.startsWith(".git"); // it is the workspace's own
    if (!mayRead) expect(status).toBe("error");
    if (!mayRead) expect(text).not.toContain("secret");
    isUntouched(fixture);
  });
});

describe("memories", () => {
  let fixture: ProvidedFixture;
  let own: string;

  beforeEach(async () => {
    fixture = await providedFixture((_, base) => memoryTool({ folder: join(base, "memories") }));
    own = join(fixture.base, "memories/default/a");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(fixture.base, "outside.txt"), "secret\n");
    mkdirSync(join(fixture.base, "memories/default/b"));
    writeFileSync(join(fixture.base, "memories/default/b/other.md"), "secret\n");
    symlinkSync(fixture.base, join(own, "link"));
  });

  it.each([
    ...["/memories/../b/other.md", "/memories/x/../../b/other.md", "/memories/..", "/memories/../../../outside.txt"],
    ...["/etc/passwd", "../outside.txt", "memories/a.md", "/memoriesx/a.md", "", "/memories/link/outside.txt"],
    ...["/memories/\0", "//memories/a.md", "/memories/.git/config", "/memories/x/.GIT/hooks/y"],
  ])("are not reached by the path %j", async (path) => {
    for (const given of [
      { command: "view", path },
      { command: "create", path, file_text: "new" },
      { command: "str_replace", path, old_str: "secret", new_str: "x" },
      { command: "insert", path, insert_line: 0, insert_text: "x" },
      { command: "delete", path },
      { command: "rename", old_path: path, new_path: "/memories/mine.md" },
    ]) {
      const { status, text } = await fixture.call("memory", given);
      expect(status).toBe("error");
      expect(text).not.toContain("secret");
    }
    expect(existsSync(join(own, "mine.md"))).toBe(false);
    expect(readFileSync(join(fixture.base, "outside.txt"), "utf8")).toBe("secret\n");
    expect(readFileSync(join(fixture.base, "memories/default/b/other.md"), "utf8")).toBe("secret\n");
  });

  it("take encoded dots as a name, and accept a name of any characters", async () => {
    for (const name of ["%2e%2e%2fb", "; rm -rf $HOME", "`id`", "-rf", "a\nb", "ﷺ", "\u202egnp.exe", " "]) {
      const path = `/memories/${name}`;
      expect(await fixture.call("memory", { command: "create", path, file_text: "x" })).toMatchObject({ status: "ok" });
      expect(readFileSync(join(own, name), "utf8")).toBe("x");
    }
  });

  it("are deleted with their content, but not what a link leads to", async () => {
    mkdirSync(join(own, "d"));
    symlinkSync(fixture.base, join(own, "d/link"));
    expect(await fixture.call("memory", { command: "delete", path: "/memories/d" })).toMatchObject({ status: "ok" });
    expect([existsSync(join(own, "d")), existsSync(join(fixture.base, "outside.txt"))]).toEqual([false, true]);
  });

  it.each(["/memories", "/memories/", "/memories/.", "/memories//./"])(
    "are not deleted all at once: %s",
    async (path) => {
      expect(await fixture.call("memory", { command: "delete", path })).toMatchObject({ status: "error" });
      expect(existsSync(own)).toBe(true);
    },
  );
});
