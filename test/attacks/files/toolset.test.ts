import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { boss } from "../../fakes/runtime-fixture.ts";
import { fileFixture, put } from "./file-fixture.ts";

describe("reading", () => {
  it("read_file gives the content and a file.read event; above the limit it says how to read on (case 253)", async () => {
    await using h = await fileFixture({ files: { maxFileBytes: 100 } });
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

  it("reads a file to its end by what each answer says, and misses nothing", async () => {
    await using h = await fileFixture({ files: { maxFileBytes: 64 } });
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

  it("works by lines and by bytes, from any position, also past the end", async () => {
    await using h = await fileFixture();
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

  it("gives bytes that are no text as media, of the type they show", async () => {
    await using h = await fileFixture({ files: { maxMediaBytes: 1000 } });
    const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(300)]);
    put(join(h.workspace, "a.txt"), png);
    const read = await h.call("read_file", { path: "a.txt" });
    expect(read.content).toMatchObject([{ type: "image", mediaType: "image/png", name: "a.txt" }]);
    expect(read.files).toHaveLength(1);
    put(join(h.workspace, "a.bin"), Buffer.from([0x66, 0xfc, 0x01]));
    expect((await h.call("read_file", { path: "a.bin" })).content).toMatchObject([{ type: "file" }]);
    put(join(h.workspace, "big.bin"), Buffer.alloc(2000));
    expect(await h.call("read_file", { path: "big.bin" })).toMatchObject({ structured: { rejected: "too_large" } });
  });

  it("stat_file describes a name, a link included, and gives the digest when asked", async () => {
    await using h = await fileFixture();
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

describe("file tools", () => {
  it("refuse to write ../x, /etc/x, through a link or with NUL: file.rejected, nothing written (case 254)", async () => {
    await using h = await fileFixture();
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

  it("are denied by the sandbox when configuration allows a path outside it (case 149)", async () => {
    await using h = await fileFixture({
      runtime: { policy: { rules: [{ effect: "allow", tool: "write_file" }] } },
    });
    const outcome = await h.call("write_file", { path: "../../../outside.txt", content: "x" });
    expect(outcome).toMatchObject({ status: "error", structured: { rejected: "parent" } });
  });

  it("never open pipes, devices and sockets, so none of them can block a call", async () => {
    await using h = await fileFixture();
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

  it("change nothing in a read-only root", async () => {
    await using h = await fileFixture({
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
