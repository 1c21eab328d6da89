/** The tools that providers define and that run here, with the providers' own types and OpenAI's own reading of patches. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolResultBlockParam, ToolUnion, ToolUseBlock } from "@anthropic-ai/sdk/resources/messages/messages";
import { applyDiff } from "@openai/agents";
import fc from "fast-check";
import type {
  Tool as OpenAiSdkTool,
  ResponseApplyPatchToolCall,
  ResponseFunctionShellToolCall,
  ResponseInputItem,
  ResponseOutputItem,
} from "openai/resources/responses/responses";
import { expect, it } from "vitest";
import { openAgentTools } from "../../packages/agents/src/agent-tools.ts";
import { anthropicResult, anthropicTools, anthropicToolUses } from "../../packages/agents/src/anthropic.ts";
import { openaiResult, openaiTools, openaiToolUses } from "../../packages/agents/src/openai.ts";
import { applyPatchTool, textEditorTool } from "../../packages/agents/src/provided/provider-tools.ts";
import { type AnyTool, createRuntime, type Runtime } from "../../packages/postern/src/index.ts";

interface Place {
  readonly runtime: Runtime;
  readonly folder: string;
}

async function place(make: (options: Parameters<typeof textEditorTool>[0]) => AnyTool): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "postern-provided-"));
  const tools = [make({ roots: { work: { path: folder, writable: true } } })];
  return { runtime: await createRuntime({ tools, autonomy: "A4" }), folder };
}

it("takes OpenAI's own items of apply_patch and returns items of OpenAI's own type", async () => {
  const { runtime, folder } = await place(applyPatchTool);
  await using tools = openAgentTools(runtime);
  const declared = openaiTools(tools.list()) as unknown as OpenAiSdkTool[];
  expect(declared).toEqual([{ type: "apply_patch" } satisfies OpenAiSdkTool]);
  const call: ResponseApplyPatchToolCall = {
    ...{ type: "apply_patch_call", id: "ap_1", call_id: "c1", status: "completed" },
    operation: { type: "create_file", path: "a.txt", diff: "+hello" },
    caller: { type: "direct" },
  };
  const output: ResponseOutputItem[] = [call];
  const [use] = openaiToolUses(output);
  if (use === undefined) throw new Error("the call was not read");
  const items: ResponseInputItem[] = openaiResult(use, await tools.call(use));
  const wanted: ResponseInputItem = {
    ...{ type: "apply_patch_call_output", call_id: "c1", status: "completed", output: "Done: add work/a.txt." },
  };
  expect(items).toEqual([wanted]);
  expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("hello\n");
});

it("reads OpenAI's own shell item", () => {
  const action = { commands: ["ls"], timeout_ms: 1_000, max_output_length: null };
  const call: ResponseFunctionShellToolCall = {
    ...{ type: "shell_call", id: "sh_1", call_id: "c1", status: "completed", environment: { type: "local" }, action },
  };
  const local: ResponseOutputItem.LocalShellCall = {
    ...{ type: "local_shell_call", id: "lsh_1", call_id: "c2", status: "completed" },
    action: { type: "exec", command: ["ls"], env: {} },
  };
  expect(openaiToolUses([call, local])).toMatchObject([
    { id: "c1", name: "shell_call", arguments: { action } },
    { id: "c2", name: "local_shell_call", arguments: { action: local.action } },
  ]);
});

it("takes Anthropic's own block of the text editor and returns a block of Anthropic's own type", async () => {
  const { runtime, folder } = await place(textEditorTool);
  writeFileSync(join(folder, "a.txt"), "one\n");
  await using tools = openAgentTools(runtime);
  const name = "str_replace_based_edit_tool";
  const declared = anthropicTools(tools.list()) as unknown as ToolUnion[];
  expect(declared).toEqual([{ type: "text_editor_20250728", name } satisfies ToolUnion]);
  const input = { command: "str_replace", path: "/work/a.txt", old_str: "one", new_str: "1" };
  const block: ToolUseBlock = { type: "tool_use", id: "t1", name, input, caller: { type: "direct" } };
  const [use] = anthropicToolUses([block]);
  if (use === undefined) throw new Error("the block was not read");
  const result: ToolResultBlockParam = anthropicResult(use, await tools.call(use));
  expect(result).toMatchObject({
    type: "tool_result",
    tool_use_id: "t1",
    content: expect.stringContaining("     1\t1"),
  });
  expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("1\n");
});

it("applies a diff as OpenAI's own library does (property)", async () => {
  const { runtime, folder } = await place(applyPatchTool);
  await using session = runtime.openSession({ maxToolCalls: 1_000_000 });
  const line = fc.constantFrom("a", "b", "c", "  d", "");
  const edits = fc.array(fc.tuple(line, fc.constantFrom("keep", "drop", "add")), { minLength: 1, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(edits, fc.constantFrom("\n", "\r\n"), async (all, end) => {
      fc.pre(
        all.some(([, what]) => what !== "add") && all.some(([, what]) => what !== "keep") && all.at(-1)?.[0] !== "",
      );
      const text = all.flatMap(([one, what]) => (what === "add" ? [] : [one + end])).join("");
      const signs = { keep: " ", drop: "-", add: "+" } as const;
      const diff = ["@@", ...all.map(([one, what]) => signs[what as keyof typeof signs] + one)].join("\n");
      const path = `${randomUUID()}.txt`;
      writeFileSync(join(folder, path), text);
      const given = { operation: { type: "update_file", path, diff } };
      expect(await session.invoke({ tool: "apply_patch", arguments: given })).toMatchObject({ status: "ok" });
      expect(readFileSync(join(folder, path), "utf8")).toBe(applyDiff(text, diff));
    }),
  );
});
