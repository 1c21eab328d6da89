import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileTools } from "../../../src/index.ts";
import { boss } from "../../fakes/house.ts";
import { fileHouse, put } from "./file-house.ts";

describe("reading", () => {
  it("read_file inside the workspace / content, a file.read event; above the limit it is bounded and says how to go on (case 253)", async () => {
    await using h = await fileHouse({ files: { maxFileBytes: 100 } });
    put(join(h.workspace, "a.txt"), "hello\n");
    expect(await h.call("read_file", { path: "workspace/a.txt" })).toMatchObject({ status: "ok", text: "hello\n" });
    expect(h.emitted).toMatchObject([{ type: "file.read", data: { path: "workspace/a.txt", bytes: 6 } }]);
    put(join(h.workspace, "long.txt"), Array.from({ length: 50 }, (_, i) => `line ${i + 1}\n`).join(""));
    const part = await h.call("read_file", { path: "long.txt" });
    expect(part.content[0]).toEqual({
      type: "text",
      text: Array.from({ length: 13 }, (_, i) => `line ${i + 1}\n`).join(""),
    });
    expect(part.text).toContain("[lines 1 to 13; the file has 391 bytes; go on with first_line 14]");
  });

  it("goes through a file by what each answer says, and misses nothing", async () => {
    await using h = await fileHouse({ files: { maxFileBytes: 64 } });
    const whole = Array.from({ length: 40 }, (_, i) => (i % 7 === 3 ? "é".repeat(50) : `zeile ${i} äöü`)).join("\n");
    put(join(h.workspace, "a.txt"), whole);
    let next: Record<string, number> | undefined = {};
    let text = "";
    for (let turn = 0; next !== undefined && turn < 100; turn += 1) {
      const { content } = await h.call("read_file", { path: "a.txt", ...next });
      const [body, note] = content.map((block) => (block.type === "text" ? block.text : ""));
      text += body;
      const go = /go on with (first_\w+) (\d+)/.exec(note ?? "");
      next = go === null ? undefined : { [go[1] ?? ""]: Number(go[2]) };
    }
    expect(text).toBe(whole);
  });

  it("by lines and by bytes, from anywhere, also past the end", async () => {
    await using h = await fileHouse();
    put(join(h.workspace, "a.txt"), "one\ntwo\nthree\n");
    const read = async (range: Record<string, number>): Promise<string | undefined> => {
      const [block] = (await h.call("read_file", { path: "a.txt", ...range })).content;
      return block?.type === "text" ? block.text : undefined;
    };
    expect(await read({ first_line: 2, lines: 1 })).toBe("two\n");
    expect(await read({ first_line: 3 })).toBe("three\n");
    expect(await read({ first_line: 99 })).toBe("");
    expect(await read({ first_byte: 4, bytes: 3 })).toBe("two");
    expect(await read({ first_byte: 4000 })).toBe("");
    const both = await h.call("read_file", { path: "a.txt", first_line: 1, first_byte: 1 });
    expect(both).toMatchObject({ status: "error", structured: { rejected: "range_invalid" } });
  });

  it("what is no text comes as media, of the type its bytes say", async () => {
    await using h = await fileHouse({ files: { maxMediaBytes: 1000 } });
    const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(300)]);
    put(join(h.workspace, "a.txt"), png);
    const read = await h.call("read_file", { path: "a.txt" });
    expect(read.content).toMatchObject([{ type: "image", mediaType: "image/png", name: "a.txt" }]);
    expect(read.files).toHaveLength(1);
    put(join(h.workspace, "latin1.txt"), Buffer.from([0x66, 0xfc, 0x72]));
    expect((await h.call("read_file", { path: "latin1.txt" })).content).toMatchObject([{ type: "file" }]);
    put(join(h.workspace, "big.bin"), Buffer.alloc(2000));
    expect(await h.call("read_file", { path: "big.bin" })).toMatchObject({ structured: { rejected: "too_large" } });
  });

  it("stat_file says what a name is, a link included, and the digest when asked", async () => {
    await using h = await fileHouse();
    put(join(h.workspace, "a.txt"), "abc");
    symlinkSync("/etc/passwd", join(h.workspace, "link"));
    const stat = async (path: string): Promise<unknown> =>
      (await h.call("stat_file", { path, digest: false })).structured;
    expect(await stat("a.txt")).toMatchObject({ path: "workspace/a.txt", type: "file", bytes: 3 });
    expect(await stat("workspace")).toMatchObject({ type: "folder" });
    expect(await stat("link")).toMatchObject({ type: "link" });
    expect(JSON.stringify(await stat("link"))).not.toContain("passwd");
    expect((await h.call("stat_file", { path: "a.txt", digest: true })).structured).toMatchObject({
      sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    });
  });
});

describe("what no tool may", () => {
  it("write_file to ../x, /etc/x, through a link, with NUL / refused, file.rejected, nothing written (case 254)", async () => {
    await using h = await fileHouse();
    mkdirSync(join(h.base, "outside"));
    put(join(h.base, "outside", "kept.txt"), "kept");
    symlinkSync(join(h.base, "outside"), join(h.workspace, "folder"));
    symlinkSync(join(h.base, "outside", "kept.txt"), join(h.workspace, "file"));
    linkSync(join(h.base, "outside", "kept.txt"), join(h.workspace, "hard"));
    const tries = {
      "../x": "parent",
      "a/../../x": "parent",
      "/etc/x": "absolute",
      "folder/x": "link",
      file: "link",
      hard: "hard_link",
      "a\0b": "path_invalid",
      "logs/tools.jsonl": "reserved",
      "events.jsonl": "reserved",
      "archive/x": "reserved",
      ".git/hooks/post-commit": "protected",
      "repository/.GIT/config": "protected",
    };
    for (const [path, reason] of Object.entries(tries)) {
      for (const [tool, rest] of [
        ["write_file", { content: "evil" }],
        ["append_file", { content: "evil" }],
        ["edit_file", { old_text: "kept", new_text: "evil" }],
      ] as const) {
        const before = h.emitted.length;
        const outcome = await h.call(tool, { path, ...rest });
        expect([path, tool, outcome.status, outcome.structured]).toMatchObject([
          path,
          tool,
          "error",
          { rejected: reason },
        ]);
        expect(h.emitted.slice(before)).toMatchObject([{ type: "file.rejected", data: { reason } }]);
        expect(outcome.text).not.toContain(h.base);
      }
    }
    expect(readdirSync(join(h.base, "outside"))).toEqual(["kept.txt"]);
    expect(readFileSync(join(h.base, "outside", "kept.txt"), "utf8")).toBe("kept");
    expect(readdirSync(h.run).sort()).toEqual(["archive", "deliverables", "logs", "workspace"]);
    expect(readdirSync(h.workspace).sort()).toEqual(["file", "folder", "hard"]);
  });

  it("configuration allows a path outside the sandbox / write / denied by the sandbox (case 149)", async () => {
    await using h = await fileHouse({
      runtime: { policy: { rules: [{ effect: "allow", tool: "write_file" }] } },
    });
    const outcome = await h.call("write_file", { path: "../../../outside.txt", content: "x" });
    expect(outcome).toMatchObject({ status: "error", structured: { rejected: "parent" } });
  });

  it("pipes, devices and sockets are never opened, so none of them can hold a call", async () => {
    await using h = await fileHouse();
    execFileSync("mkfifo", [join(h.workspace, "pipe")]);
    const server = createServer().listen(join(h.workspace, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    for (const path of ["pipe", "socket"]) {
      for (const [tool, rest] of [
        ["read_file", {}],
        ["write_file", { content: "x" }],
        ["append_file", { content: "x" }],
        ["edit_file", { old_text: "a", new_text: "b" }],
        ["move_file", {}],
      ] as const) {
        const given = tool === "move_file" ? { from: path, to: "elsewhere" } : { path, ...rest };
        expect((await h.call(tool, given)).structured, `${tool} ${path}`).toMatchObject({ rejected: "special_file" });
      }
    }
    expect((await h.call("grep_files", { pattern: "." })).structured).toMatchObject({ matches: [] });
    server.close();
  });

  it("a read-only root stays as it is", async () => {
    await using h = await fileHouse({
      files: (base) => {
        put(join(base, "docs", "a.md"), "text");
        return { roots: { docs: { path: join(base, "docs") } } };
      },
    });
    expect((await h.call("read_file", { path: "docs/a.md" })).text).toBe("text");
    for (const [tool, given] of [
      ["write_file", { path: "docs/b.md", content: "x" }],
      ["append_file", { path: "docs/a.md", content: "x" }],
      ["edit_file", { path: "docs/a.md", old_text: "text", new_text: "x" }],
      ["move_file", { from: "docs/a.md", to: "workspace/a.md" }],
      ["move_file", { from: "workspace/a.md", to: "docs/c.md" }],
      ["delete_file", { path: "docs/a.md" }],
    ] as const) {
      let outcome = await h.call(tool, given);
      if (outcome.status === "pending") {
        await h.runtime.approvals.decide(outcome.approvalId ?? "", { decision: "approved", by: boss });
        outcome = await h.call(tool, given);
      }
      expect([tool, outcome.refusal?.code === "approval_unavailable" || outcome.structured]).toMatchObject([
        tool,
        tool === "delete_file" ? true : { rejected: "read_only" },
      ]);
    }
    expect(readdirSync(join(h.base, "docs"))).toEqual(["a.md"]);
  });
});

describe("changing", () => {
  it("write_file makes folders, replaces whole files, keeps their mode and leaves no draft", async () => {
    await using h = await fileHouse();
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

  it("edit_file replaces exactly what is there exactly as often as was said", async () => {
    await using h = await fileHouse();
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

  it("fifty edits and appends of one file at once / none is lost", async () => {
    await using h = await fileHouse();
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

  it("move_file moves files and folders between roots, and replaces only when told to", async () => {
    await using h = await fileHouse();
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
    await using off = await fileHouse({ files: { delete: false } });
    expect((await off.call("delete_file", { path: "a" })).refusal?.code).toBe("tool_unknown");
    await using unnamed = await fileHouse({ runtime: { policy: {} } });
    expect((await unnamed.call("delete_file", { path: "a" })).refusal?.code).toBe("permission_denied");

    await using h = await fileHouse({ runtime: { approvals: { patience: "suspend" } } });
    put(join(h.workspace, "a/x.txt"));
    const remove = async (path: string): Promise<unknown> => {
      const asked = await h.call("delete_file", { path });
      expect(asked.status).toBe("pending");
      const approval = await h.runtime.approvals.list({ state: "pending" });
      expect(approval[0]?.preview?.summary).toContain(`workspace/${path.replace(/\/$/, "")}`);
      await h.runtime.approvals.decide(asked.approvalId ?? "", { decision: "approved", by: boss });
      return (await h.runtime.resume(asked.approvalId ?? ""))?.structured;
    };
    expect(await remove("a")).toMatchObject({ rejected: "not_empty" });
    expect(await remove("a/x.txt")).toMatchObject({ deleted: true });
    expect(await remove("a/")).toMatchObject({ deleted: true });
    expect(readdirSync(h.workspace)).toEqual([]);
  });
});

it("a call's target is its path in one spelling, for rules", () => {
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
    await using h = await fileHouse({ runtime: { autonomy: "A2", approvals: { patience: "suspend" } } });
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

  it("of what will be refused says why, and shows nothing of what lies outside", async () => {
    await using h = await fileHouse({ runtime: { autonomy: "A0" } });
    symlinkSync("/etc/passwd", join(h.workspace, "link"));
    const outcome = await h.call("write_file", { path: "link", content: "x" });
    expect(outcome).toMatchObject({ status: "preview", preview: { supported: false } });
    expect(outcome.preview?.problem).toContain("symbolic link");
    expect(JSON.stringify(outcome)).not.toContain("root:");
  });
});
