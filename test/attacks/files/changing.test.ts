import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileTools } from "../../../packages/postern/src/builtin/index.ts";
import { boss } from "../../fakes/runtime-fixture.ts";
import { fileFixture, put } from "./file-fixture.ts";

describe("a change of files", () => {
  it("write_file makes folders, replaces whole files, keeps their mode and leaves no draft", async () => {
    await using h = await fileFixture();
    expect((await h.call("write_file", { path: "a/b/c.txt", content: "one" })).structured).toMatchObject({
      path: "workspace/a/b/c.txt",
      bytes: 3,
      created: true,
    });
    execFileSync("chmod", ["750", join(h.workspace, "a/b/c.txt")]);
    expect((await h.call("write_file", { path: "a/b/c.txt", content: "two" })).structured).toMatchObject({
      created: false,
    });
    expect(readFileSync(join(h.workspace, "a/b/c.txt"), "utf8")).toBe("two");
    expect(statSync(join(h.workspace, "a/b/c.txt")).mode & 0o777).toBe(0o750);
    expect(readdirSync(join(h.workspace, "a/b"))).toEqual(["c.txt"]);
    expect(h.emitted.map(({ type }) => type)).toEqual(["file.written", "file.written"]);
    await h.call("write_file", { path: "deliverables/x.bin", content: "AAEC/w==", encoding: "base64" });
    expect([...readFileSync(join(h.run, "deliverables/x.bin"))]).toEqual([0, 1, 2, 255]);
    expect(
      (await h.call("write_file", { path: "x", content: "no base64!", encoding: "base64" })).structured,
    ).toMatchObject({
      rejected: "content_invalid",
    });
    expect((await h.call("write_file", { path: "a/b", content: "x" })).structured).toMatchObject({
      rejected: "is_a_folder",
    });
    expect((await h.call("write_file", { path: "a/b/c.txt/d", content: "x" })).structured).toMatchObject({
      rejected: "not_a_folder",
    });
  });

  it("edit_file replaces exactly the given text exactly as often as asked", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, "a.ts"), "const a = 1;\nconst b = 1;\n");
    const edit = (more: Record<string, string | number>): Promise<unknown> =>
      h.call("edit_file", { path: "a.ts", ...more } as never).then(({ structured, status }) => [status, structured]);
    expect(await edit({ old_text: "= 1", new_text: "= 2" })).toMatchObject(["error", { rejected: "no_match" }]);
    expect(await edit({ old_text: "= 7", new_text: "= 2" })).toMatchObject(["error", { rejected: "no_match" }]);
    expect(await edit({ old_text: "a = 1", new_text: "a = $& $1" })).toMatchObject(["ok", {}]);
    expect(await edit({ old_text: "const", new_text: "let", count: 2 })).toMatchObject(["ok", {}]);
    expect(readFileSync(join(h.workspace, "a.ts"), "utf8")).toBe("let a = $& $1;\nlet b = 1;\n");
    put(join(h.workspace, "bin"), Buffer.from([1, 0, 2]));
    expect((await h.call("edit_file", { path: "bin", old_text: "a", new_text: "b" })).structured).toMatchObject({
      rejected: "not_text",
    });
    expect((await h.call("edit_file", { path: "none", old_text: "a", new_text: "b" })).structured).toMatchObject({
      rejected: "not_found",
    });
  });

  it("edit_file shows the nearest lines when the text is not there, as a patch does", async () => {
    await using h = await fileFixture();
    const lines = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`);
    put(join(h.workspace, "a.md"), [...lines, "It’s a “quote”", "", "second"].join("\n"));
    const miss = async (old_text: string): Promise<string> =>
      (await h.call("edit_file", { path: "a.md", old_text, new_text: "x" })).text;
    const typed = await miss('It\'s a "quote"');
    expect(typed).toContain("does not hold the text that was to be replaced; nothing was changed. The file holds:");
    expect(typed).toContain("    31\tIt’s a “quote”");
    expect(await miss("line 20\nline 22")).toContain("; line 21 is `line 21` and not `line 22`. The file holds:");
    expect(await miss("nowhere")).toContain("     1\tline 1");
  });

  it("applies fifty edits and appends of one file at once and loses none", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, "a.txt"), "");
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => h.call("append_file", { path: "a.txt", content: `<${i}>\n` })),
    );
    await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        h.call("edit_file", { path: "a.txt", old_text: `<${i}>`, new_text: `[${i}]` }),
      ),
    );
    const lines = readFileSync(join(h.workspace, "a.txt"), "utf8").trim().split("\n");
    expect(new Set(lines)).toEqual(new Set(Array.from({ length: 50 }, (_, i) => `[${i}]`)));
  });

  it("move_file moves files and folders between roots, and replaces only when asked to", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, "a/x.txt"), "x");
    put(join(h.workspace, "y.txt"), "y");
    const move = async (from: string, to: string, overwrite?: boolean): Promise<unknown> =>
      (await h.call("move_file", { from, to, ...(overwrite !== undefined && { overwrite }) })).structured;
    expect(await move("y.txt", "a/x.txt")).toMatchObject({ rejected: "exists" });
    expect(await move("y.txt", "a/x.txt", true)).toEqual({ from: "workspace/y.txt", to: "workspace/a/x.txt" });
    expect(await move("a", "deliverables/deep/er/b")).toMatchObject({ to: "deliverables/deep/er/b" });
    expect(readFileSync(join(h.run, "deliverables/deep/er/b/x.txt"), "utf8")).toBe("y");
    expect(await move("deliverables/deep", "deliverables/deep/er/z")).toMatchObject({ rejected: "path_invalid" });
    expect(await move("workspace", "deliverables/w")).toMatchObject({ rejected: "read_only" });
    expect(await move("none", "other")).toMatchObject({ rejected: "not_found" });
  });

  it("delete_file is off by default, critical, and takes one file or one empty folder", async () => {
    await using off = await fileFixture({ files: { delete: false } });
    expect((await off.call("delete_file", { path: "a" })).refusal?.code).toBe("tool_unknown");
    await using unnamed = await fileFixture({ runtime: { policy: {} } });
    expect((await unnamed.call("delete_file", { path: "a" })).refusal?.code).toBe("permission_denied");

    await using h = await fileFixture({ runtime: { approvals: { patience: "suspend" } } });
    put(join(h.workspace, "a/x.txt"));
    const remove = async (path: string): Promise<unknown> => {
      const asked = await h.call("delete_file", { path });
      expect(asked.status).toBe("pending");
      const approval = await h.runtime.approvals.list({ state: "pending" });
      expect(approval[0]?.preview?.summary).toContain(`workspace/${path.replace(/\/$/, "")}`);
      await h.runtime.approvals.decide(asked.approvalId ?? "", {
        decision: "approved",
        by: boss,
        confirmation: "delete_file",
      });
      return (await h.runtime.resume(asked.approvalId ?? ""))?.structured;
    };
    expect(await remove("a")).toMatchObject({ rejected: "not_empty" });
    expect(await remove("a/x.txt")).toMatchObject({ deleted: true });
    expect(await remove("a/")).toMatchObject({ deleted: true });
    expect(readdirSync(h.workspace)).toEqual([]);
  });
});

it("names one form of the path as the call's target, for rules", () => {
  const tools = fileTools({ roots: { docs: { path: "." } }, write: true });
  const targetOf = (name: string, given: unknown): unknown =>
    tools.find((tool) => tool.name === name)?.classifyRisk?.(given, "default");
  expect(targetOf("write_file", { path: "./docs//a/./b.txt" })).toEqual({ target: "docs/a/b.txt" });
  expect(targetOf("move_file", { from: "docs/x", to: "docs/y/" })).toEqual({ target: "docs/y" });
  expect(targetOf("read_file", { path: "../x" })).toEqual({});
  expect(targetOf("read_file", { path: 7 })).toEqual({});
});

describe("a preview", () => {
  it("of a write is a unified diff, and a file that changed meanwhile voids the approval", async () => {
    await using h = await fileFixture({ runtime: { autonomy: "A2", approvals: { patience: "suspend" } } });
    put(join(h.workspace, "a.txt"), "one\ntwo\nthree\n");
    const given = { path: "a.txt", old_text: "two", new_text: "2" };
    const asked = await h.call("edit_file", given);
    const [approval] = await h.runtime.approvals.list({ state: "pending" });
    expect(approval?.preview).toMatchObject({
      supported: true,
      summary: "edit workspace/a.txt (14 bytes → 12 bytes)",
      diff: "--- workspace/a.txt\n+++ workspace/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three",
    });
    put(join(h.workspace, "a.txt"), "one\ntwo\nfour\n");
    await h.runtime.approvals.decide(asked.approvalId ?? "", { decision: "approved", by: boss });
    expect((await h.runtime.resume(asked.approvalId ?? ""))?.refusal?.code).toBe("approval_expired");
    expect(readFileSync(join(h.workspace, "a.txt"), "utf8")).toBe("one\ntwo\nfour\n");
  });

  it("of a call that will be refused says why, and shows nothing from outside the workspace", async () => {
    await using h = await fileFixture({ runtime: { autonomy: "A0" } });
    symlinkSync("/etc/passwd", join(h.workspace, "link"));
    const outcome = await h.call("write_file", { path: "link", content: "x" });
    expect(outcome).toMatchObject({ status: "preview", preview: { supported: false } });
    expect(outcome.preview?.problem).toContain("symbolic link");
    expect(JSON.stringify(outcome)).not.toContain("root:");
  });
});
