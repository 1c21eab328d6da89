import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openAgentTools } from "../../../packages/agents/src/agent-tools.ts";
import { openaiResult } from "../../../packages/agents/src/openai.ts";
import { applyPatchTool } from "../../../packages/agents/src/provided/apply-patch.ts";
import { type FileFixture, fileFixture, put } from "./file-fixture.ts";

const mark = "\ufeff";
const little = (text: string): Buffer => Buffer.from(mark + text, "utf16le");
const big = (text: string): Buffer => little(text).swap16();
const latin = (text: string): Buffer => Buffer.from(text, "latin1");
const at = (h: FileFixture, name: string): Buffer => readFileSync(join(h.workspace, name));
const csv = "name;city\nAnn;München\n";

describe("reading a file that is not UTF-8", () => {
  it.each([
    ["low byte first", little],
    ["high byte first", big],
  ])("decodes UTF-16 by its byte order mark, %s, whole and in parts", async (_, bytes) => {
    await using h = await fileFixture({ files: { maxFileBytes: 10 } });
    put(join(h.workspace, "a.txt"), bytes("één\nĊ two\n"));
    const first = await h.call("read_file", { path: "a.txt" });
    expect(first.content).toEqual([
      { type: "text", text: "één\n" },
      { type: "text", text: expect.stringMatching(/^\[line 1; the file is utf-16[lb]e; .*go on with first_line 2\]$/) },
    ]);
    expect((await h.call("read_file", { path: "a.txt", first_line: 2 })).text).toContain("Ċ two\n");
  });

  it("says what it found and how to read it, and never answers with an empty text", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, "l1.csv"), latin(csv));
    const sentence =
      '`l1.csv` has 22 bytes and is not UTF-8 text. It looks like windows-1252: call again with `encoding: "windows-1252"`';
    const read = await h.call("read_file", { path: "l1.csv" });
    expect(read).toMatchObject({ status: "error", structured: { rejected: "not_text" } });
    expect(read.text).toContain(sentence);
    expect((await h.call("read_file", { path: "l1.csv", first_line: 1 })).text).toContain("It looks like windows-1252");
    await using tools = openAgentTools(h.runtime, { principal: { tenant: "default", agent: "a" }, runId: "run_1" });
    const use = { id: "1", name: "read_file", arguments: { path: "l1.csv" } };
    expect(JSON.stringify(openaiResult(use, await tools.call(use)))).toContain("is not UTF-8 text");
    expect((await h.call("read_file", { path: "l1.csv", encoding: "latin1" })).text).toBe(csv);
    put(join(h.workspace, "no-mark.txt"), Buffer.from("hello there\n", "utf16le"));
    expect((await h.call("read_file", { path: "no-mark.txt" })).text).toContain('`encoding: "utf-16le"`');
  });

  it.each([
    ["shift_jis", "93fa967b8cea", "日本語"],
    ["gb18030", "d6d0cec4", "中文"],
    ["koi8-r", "d2d5d3d3cbc9ca", "русский"],
    ["euc-kr", "c7d1b1b9", "한국"],
  ])("decodes %s if it is told to", async (encoding, hex, text) => {
    await using h = await fileFixture();
    put(join(h.workspace, "a.txt"), Buffer.from(hex, "hex"));
    expect((await h.call("read_file", { path: "a.txt", encoding })).text).toBe(text);
  });

  it("refuses an unknown encoding, and one that the bytes do not have", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, "l1.csv"), latin(csv));
    const read = async (encoding: string) => (await h.call("read_file", { path: "l1.csv", encoding })).structured;
    expect(await read("klingon")).toMatchObject({ rejected: "encoding_unknown" });
    expect(await read("utf-8")).toMatchObject({ rejected: "not_text" });
    expect(await read("euc-jp")).toMatchObject({ rejected: "not_text" });
  });

  it("finds its lines with grep_files", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, "l1.csv"), latin(csv));
    put(join(h.workspace, "u16.csv"), little(csv));
    const { structured } = await h.call("grep_files", { pattern: "münchen", ignore_case: true });
    expect(structured).toMatchObject({
      matches: [
        { path: "workspace/l1.csv", line: 2, text: "Ann;München" },
        { path: "workspace/u16.csv", line: 2, text: "Ann;München" },
      ],
    });
  });
});

describe("changing a file that is not UTF-8", () => {
  const edit = { old_text: "München", new_text: "Köln" };

  it("keeps UTF-16 and its mark when a file is edited, written and grows", async () => {
    await using h = await fileFixture();
    for (const bytes of [little, big]) {
      put(join(h.workspace, "a.csv"), bytes(csv));
      expect((await h.call("edit_file", { path: "a.csv", ...edit })).status).toBe("ok");
      expect(at(h, "a.csv")).toEqual(bytes("name;city\nAnn;Köln\n"));
      await h.call("append_file", { path: "a.csv", content: "Bob;Łódź\n" });
      expect(at(h, "a.csv")).toEqual(bytes("name;city\nAnn;Köln\nBob;Łódź\n"));
      await h.call("write_file", { path: "a.csv", content: "→\n" });
      expect(at(h, "a.csv")).toEqual(bytes("→\n"));
    }
    await h.call("write_file", { path: "a.csv", content: "→\n", encoding: "utf8" });
    expect(at(h, "a.csv")).toEqual(Buffer.from("→\n"));
  });

  it("keeps the stated encoding, and refuses a character that it cannot hold", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, "l1.csv"), latin(csv));
    expect((await h.call("edit_file", { path: "l1.csv", ...edit })).structured).toMatchObject({ rejected: "not_text" });
    const encoding = "windows-1252";
    expect((await h.call("edit_file", { path: "l1.csv", ...edit, encoding })).status).toBe("ok");
    expect(at(h, "l1.csv")).toEqual(latin("name;city\nAnn;Köln\n"));
    await h.call("append_file", { path: "l1.csv", content: "Zoë;5 €\n", encoding });
    expect(at(h, "l1.csv").subarray(-5)).toEqual(Buffer.from([0x3b, 0x35, 0x20, 0x80, 0x0a]));
    const whole = at(h, "l1.csv");
    for (const tool of ["write_file", "append_file"]) {
      const refused = await h.call(tool, { path: "l1.csv", content: "a → b", encoding });
      expect(refused.structured).toMatchObject({ rejected: "content_invalid" });
      expect(refused.text).toContain("windows-1252 cannot hold `→` (U+2192)");
    }
    expect((await h.call("edit_file", { path: "l1.csv", old_text: "Köln", new_text: "→", encoding })).status).toBe(
      "error",
    );
    expect(at(h, "l1.csv")).toEqual(whole);
  });

  it("does not mix encodings when it adds to a file", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, "l1.csv"), latin(csv));
    const append = (content: string) => h.call("append_file", { path: "l1.csv", content });
    expect((await append("Zoë\n")).structured).toMatchObject({ rejected: "not_text" });
    expect((await append("Bob\n")).status).toBe("ok");
    expect(at(h, "l1.csv")).toEqual(latin(`${csv}Bob\n`));
  });

  it("edits shift_jis, and changes no byte beside the edit", async () => {
    await using h = await fileFixture();
    put(join(h.workspace, "a.txt"), Buffer.from("93fa967b8cea0a", "hex"));
    const change = { path: "a.txt", old_text: "日本", new_text: "英", encoding: "shift_jis" };
    expect((await h.call("edit_file", change)).status).toBe("ok");
    expect(at(h, "a.txt").toString("hex")).toBe("89708cea0a");
    const twoCodes = Buffer.from("8754fa4a0a", "hex"); // both codes are Ⅰ
    put(join(h.workspace, "a.txt"), Buffer.concat([twoCodes, Buffer.from("93fa967b", "hex")]));
    expect((await h.call("edit_file", change)).structured).toMatchObject({ rejected: "not_text" });
  });

  it("shows its preview as text", async () => {
    await using h = await fileFixture({ runtime: { autonomy: "A2", approvals: { patience: "suspend" } } });
    put(join(h.workspace, "u16.csv"), little(csv));
    put(join(h.workspace, "l1.csv"), latin(csv));
    await h.call("edit_file", { path: "u16.csv", ...edit });
    await h.call("edit_file", { path: "l1.csv", ...edit, encoding: "latin1" });
    const open = await h.runtime.approvals.list();
    for (const { preview } of open) expect(preview?.diff).toContain("-Ann;München\n+Ann;Köln");
    expect(open).toHaveLength(2);
  });

  it("keeps UTF-16 when a patch changes it", async () => {
    await using h = await fileFixture({ tools: (options) => [applyPatchTool(options) as never] });
    put(join(h.workspace, "a.csv"), little(csv));
    const diff = "@@\n-Ann;München\n+Ann;Köln\n";
    const operation = { type: "update_file", path: "workspace/a.csv", diff };
    expect((await h.call("apply_patch", { operation })).status).toBe("ok");
    expect(at(h, "a.csv")).toEqual(little("name;city\nAnn;Köln\n"));
  });
});
