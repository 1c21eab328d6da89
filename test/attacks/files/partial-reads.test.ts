import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openAgentTools } from "../../../packages/agents/src/agent-tools.ts";
import { textEditorTool } from "../../../packages/agents/src/provided/editor.ts";
import type { JsonObject } from "../../../packages/postern/src/index.ts";
import { type FileFixture, fileFixture, put } from "./file-fixture.ts";

/** The limit of a library: 4,096 bytes inline. */
const limits = { maxToolCalls: 10_000, maxInlineResultBytes: 4096 };
const owner = { principal: { tenant: "default", agent: "a" }, runId: "run_1" } as const;
const lines = Array.from({ length: 900 }, (_, i) => `line ${i + 1} äöü`);
const whole = `${lines.join("\n")}\n`;

const next = (text: string): JsonObject | undefined => {
  const [, name, at] = /To read on, send the (?:same )?call with `(first_\w+): (\d+)`/.exec(text) ?? [];
  return name === undefined ? undefined : { [name]: Number(at) };
};

async function readAll(h: FileFixture, path: string): Promise<{ readonly text: string; readonly calls: number }> {
  await using tools = openAgentTools(h.runtime, owner);
  let text = "";
  let calls = 0;
  for (let range: JsonObject | undefined = {}; range !== undefined && calls < 200; calls += 1) {
    const answer = await tools.call({ name: "read_file", arguments: { path, ...range } });
    const part = answer.text.replace(/…?\n\n\[Cut: [\s\S]*$/, "").replace(/\n\[(?:lines?|bytes) [^\n]*\]$/, "");
    range = next(answer.text);
    text += range?.["first_line"] === undefined ? part : part.slice(0, part.lastIndexOf("\n") + 1);
  }
  return { text, calls };
}

describe("a file that is longer than the inline limit", () => {
  it("is read to its end by its lines, with nothing missing", async () => {
    await using h = await fileFixture({ runtime: { limits } });
    put(join(h.workspace, "a.txt"), whole);
    const first = await h.call("read_file", { path: "a.txt" });
    expect(first.cut?.readOn).toBe(
      `send the same call with \`first_line: 263\` (the file has ${Buffer.byteLength(whole)} bytes)`,
    );
    const read = await readAll(h, "a.txt");
    expect(read.text).toBe(whole);
    expect(read.calls).toBe(4);
  });

  it("is read to its end by its bytes if it has one long line", async () => {
    await using h = await fileFixture({ runtime: { limits } });
    put(join(h.workspace, "min.js"), "é".repeat(5_000));
    expect((await readAll(h, "min.js")).text).toBe("é".repeat(5_000));
  });

  it("keeps the reader's own advice when the file is longer than one read, too", async () => {
    await using h = await fileFixture({ files: { maxFileBytes: 8_000 }, runtime: { limits } });
    put(join(h.workspace, "a.txt"), whole);
    expect((await readAll(h, "a.txt")).text).toBe(whole);
  });

  it("leaves the advice of other tools as it is", async () => {
    await using h = await fileFixture({ runtime: { limits } });
    for (let i = 0; i < 200; i += 1) put(join(h.workspace, `long-name-of-a-file-${i}.txt`));
    await using tools = openAgentTools(h.runtime, owner);
    expect((await tools.call({ name: "list_files", arguments: {} })).text).toContain("To read on, pass");
  });

  it("is viewed to its end with the text editor", async () => {
    await using h = await fileFixture({
      tools: (options) => [textEditorTool(options) as never],
      runtime: { limits },
    });
    put(join(h.workspace, "a.txt"), whole);
    await using tools = openAgentTools(h.runtime, owner);
    const name = "str_replace_based_edit_tool";
    const answer = await tools.call({ name, arguments: { command: "view", path: "workspace/a.txt" } });
    const [, line = ""] = /send the same call with `view_range: \[(\d+), -1\]`/.exec(answer.text) ?? [];
    const shown = answer.text.split("\n").filter((one) => /^ *\d+\t/.test(one));
    expect(Number(line)).toBe(shown.length);
  });
});
