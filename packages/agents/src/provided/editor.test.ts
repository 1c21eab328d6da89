import type { JsonObject, ToolOutcome } from "@postern/core";
import { expect, it } from "vitest";
import { agent, providedFixture } from "../../../../test/fakes/provided-fixture.ts";
import { openAgentTools } from "../agent-tools.ts";
import { anthropicResult, anthropicTools, anthropicToolUses } from "../anthropic.ts";
import { textEditorTool } from "./editor.ts";
import { memoryTool } from "./memory-tool.ts";

const editor = "str_replace_based_edit_tool";

it("runs Anthropic's editor calls and answers in Anthropic's form", async () => {
  await using house = await providedFixture(textEditorTool);
  house.put("a.txt", "one\r\ntwo\r\nthree\r\n");
  await using tools = openAgentTools(house.runtime, agent);
  expect(anthropicTools(tools.list())).toEqual([{ type: "text_editor_20250728", name: editor }]);
  const use = (id: string, input: JsonObject): object => ({ type: "tool_use", id, name: editor, input });
  const uses = anthropicToolUses([
    use("t1", { command: "view", path: "/workspace/a.txt" }),
    use("t2", { command: "str_replace", path: "/workspace/a.txt", old_str: "two\nthree", new_str: "2\n2.5\n3" }),
    use("t3", { command: "insert", path: "a.txt", insert_line: 0, insert_text: "zero\n" }),
    use("t4", { command: "create", path: "b/c.txt", file_text: "new\n" }),
    use("t5", { command: "create", path: "b/c.txt", file_text: "again\n" }),
  ]);
  const answers = await tools.callAll(uses);
  const results = uses.map((one, i) => anthropicResult(one, answers[i] as (typeof answers)[number]));
  const result = (tool_use_id: string, content: string): object => ({ type: "tool_result", tool_use_id, content });
  expect(results).toEqual([
    result("t1", "     1\tone\n     2\ttwo\n     3\tthree"),
    result("t2", expect.stringContaining("     3\t2.5\n")),
    result("t3", expect.stringContaining("     1\tzero\n     2\tone\n")),
    result("t4", "b/c.txt was created."),
    { ...result("t5", expect.stringContaining("exists already")), is_error: true },
  ]);
  expect([house.read("a.txt"), house.read("b/c.txt")]).toEqual(["zero\r\none\r\n2\r\n2.5\r\n3\r\n", "new\n"]);
});

it.each<[string, JsonObject, string | RegExp]>([
  ["a range", { view_range: [2, 3] }, "     2\tb\n     3\tb"],
  ["a range to the end", { view_range: [3, -1] }, "     3\tb\n     4\td"],
  ["a range behind the end", { view_range: [9, 12] }, "(nothing: it ends before)"],
  ["a range that goes backwards", { view_range: [3, 2] }, /cannot be shown from line 3 to 2/],
  ["a range of no two numbers", { view_range: [1] }, /arguments do not fit/],
])("shows %s of a file", async (_, more, shown) => {
  await using house = await providedFixture(textEditorTool);
  house.put("a.txt", "a\nb\nb\nd\n");
  const { text, refusal } = await house.call(editor, { command: "view", path: "a.txt", ...more });
  expect(text === "" ? refusal?.message : text).toEqual(
    typeof shown === "string" ? shown : expect.stringMatching(shown),
  );
});

it("says how to continue in a file that is cut", async () => {
  await using house = await providedFixture((options) => textEditorTool({ ...options, maxFileBytes: 20 }));
  house.put("a.txt", "1234567\n".repeat(9));
  const first = await house.call(editor, { command: "view", path: "a.txt" });
  expect(first.text).toBe("     1\t1234567\n     2\t1234567\n[The file goes on: view_range [3, -1].]");
});

it("lists a folder two levels deep, without hidden names and packages", async () => {
  await using house = await providedFixture(textEditorTool);
  for (const path of ["a.txt", "d/e.txt", "d/f/g.txt", ".hidden", "node_modules/x.js", "d/.git/config"])
    house.put(path, "12345");
  const { text } = await house.call(editor, { command: "view", path: "/workspace" });
  expect(text.split("\n")).toEqual([
    "5\tworkspace/a.txt",
    "folder\tworkspace/d",
    "5\tworkspace/d/e.txt",
    "folder\tworkspace/d/f",
  ]);
});

it.each<[string, JsonObject, string]>([
  ["a text that stands there twice", { command: "str_replace", old_str: "b", new_str: "c" }, "2 times (in lines 2, 3)"],
  ["a text that is not there", { command: "str_replace", old_str: "z", new_str: "c" }, "does not hold the text"],
  ["a line that is not there", { command: "insert", insert_line: 5, insert_text: "x" }, "has 4 lines"],
])("says what is wrong with %s, and changes nothing", async (_, given, why) => {
  await using house = await providedFixture(textEditorTool);
  house.put("a.txt", "a\nb\nb\nd\n");
  expect(await house.call(editor, { path: "a.txt", ...given })).toMatchObject({
    ...{ status: "error", text: expect.stringContaining(why) },
  });
  expect(house.read("a.txt")).toBe("a\nb\nb\nd\n");
});

it("views without asking and asks before it writes", async () => {
  await using house = await providedFixture(textEditorTool, { autonomy: "A2", approvals: { patience: "suspend" } });
  house.put("a.txt", "a\n");
  expect(await house.call(editor, { command: "view", path: "a.txt" })).toMatchObject({ text: "     1\ta" });
  house.put("a.txt", "a\nb\n");
  expect(await house.call(editor, { command: "view", path: "a.txt" })).toMatchObject({ text: "     1\ta\n     2\tb" });
  const given = { command: "str_replace", path: "a.txt", old_str: "a", new_str: "c" };
  expect(await house.call(editor, given)).toMatchObject({ status: "pending" });
  const [request] = await house.runtime.approvals.list({ state: "pending" });
  expect(JSON.stringify(request)).toContain("-a\\n+c");
  expect(house.read("a.txt")).toBe("a\nb\n");
});

it("keeps each agent's memories in its own files", async () => {
  await using house = await providedFixture((_, base) => memoryTool({ folder: `${base}/memories` }));
  const call = (given: JsonObject, name = "a", tenant = "default"): Promise<ToolOutcome> =>
    house.runtime.invoke({ tool: "memory", arguments: given }, { principal: { tenant, agent: name } });
  const view = async (path: string, name?: string, tenant?: string): Promise<string> =>
    (await call({ command: "view", path }, name, tenant)).text;
  expect(await view("/memories")).toBe("(nothing is remembered yet)");
  await call({ command: "create", path: "/memories/people/ada.md", file_text: "likes tea\n" });
  await call({ command: "str_replace", path: "/memories/people/ada.md", old_str: "tea", new_str: "coffee" });
  await call({ command: "insert", path: "/memories/people/ada.md", insert_line: 1, insert_text: "and cake" });
  expect(await view("/memories/people/ada.md")).toBe("     1\tlikes coffee\n     2\tand cake");
  await call({ command: "rename", old_path: "/memories/people/ada.md", new_path: "/memories/ada.md" });
  expect(await view("/memories")).toBe("22\t/memories/ada.md\nfolder\t/memories/people");
  for (const [name, tenant] of [["b"], ["a", "other"], ["a/", "default"], ["..", "default"]] as const)
    expect(await view("/memories", name, tenant)).toBe("(nothing is remembered yet)");
  await call({ command: "create", path: "/memories/people/deep/x", file_text: "x" });
  expect(await call({ command: "delete", path: "/memories/people" })).toMatchObject({ status: "ok" });
  expect(await view("/memories")).toBe("22\t/memories/ada.md");
});

it("declares the memory tool and reads its calls", async () => {
  await using house = await providedFixture((_, base) => memoryTool({ folder: `${base}/memories` }));
  await using tools = openAgentTools(house.runtime, agent);
  expect(anthropicTools(tools.list())).toEqual([{ type: "memory_20250818", name: "memory" }]);
  const [use] = anthropicToolUses([
    { type: "tool_use", id: "t", name: "memory", input: { command: "view", path: "/memories" } },
  ]);
  if (use === undefined) throw new Error("the call was not read");
  expect(anthropicResult(use, await tools.call(use))).toMatchObject({ content: "(nothing is remembered yet)" });
});
