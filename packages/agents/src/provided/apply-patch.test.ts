import { expect, it } from "vitest";
import { agent, providedFixture } from "../../../../test/fakes/provided-fixture.ts";
import { openAgentTools } from "../agent-tools.ts";
import { openaiResult, openaiTools, openaiToolUses } from "../openai.ts";
import { applyPatchTool } from "./apply-patch.ts";

const patch = (...lines: readonly string[]): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");

it("runs OpenAI's items and answers in OpenAI's form", async () => {
  await using house = await providedFixture((options) => applyPatchTool({ ...options, delete: true }));
  house.put("a.txt", "one\r\ntwo\r\n");
  house.put("gone.txt", "x\n");
  await using tools = openAgentTools(house.runtime, agent);
  expect(tools.find("apply_patch_call")?.name).toBe("apply_patch");
  expect(openaiTools(tools.list())).toEqual([{ type: "apply_patch" }]);
  const call = (id: string, operation: object): object => ({
    ...{ type: "apply_patch_call", id: `ap_${id}`, call_id: id, status: "completed", operation },
  });
  const uses = openaiToolUses([
    call("c1", { type: "update_file", path: "a.txt", diff: "@@\n one\n-two\n+2" }),
    call("c2", { type: "create_file", path: "new/n.txt", diff: "+hello" }),
    call("c3", { type: "delete_file", path: "gone.txt" }),
    call("c4", { type: "update_file", path: "a.txt", diff: "@@\n-three\n+3" }),
  ]);
  const answers = await tools.callAll(uses);
  const items = uses.flatMap((use, i) => openaiResult(use, answers[i] as (typeof answers)[number]));
  const item = (call_id: string, status: string, output: string): object => ({
    ...{ type: "apply_patch_call_output", call_id, status, output: expect.stringContaining(output) },
  });
  expect(items).toEqual([
    item("c1", "completed", "update workspace/a.txt"),
    item("c2", "completed", "add workspace/new/n.txt"),
    item("c3", "completed", "delete workspace/gone.txt"),
    item("c4", "failed", "hunk 1 of the patch does not match"),
  ]);
  expect([house.read("a.txt"), house.read("new/n.txt"), house.read("gone.txt")]).toEqual([
    "one\r\n2\r\n",
    "hello\n",
    undefined,
  ]);
});

it("runs Codex's text in a custom tool's call", async () => {
  await using house = await providedFixture((options) => applyPatchTool({ ...options, declare: "custom" }));
  house.put("a.txt", "x\n");
  await using tools = openAgentTools(house.runtime, agent);
  expect(openaiTools(tools.list())).toMatchObject([{ type: "custom", name: "apply_patch" }]);
  const input = patch("*** Update File: /workspace/a.txt", "*** Move to: b/c.txt", "@@", "-x", "+y");
  const [use] = openaiToolUses([{ type: "custom_tool_call", call_id: "c", name: "apply_patch", input }]);
  if (use === undefined) throw new Error("the call was not read");
  expect(openaiResult(use, await tools.call(use))).toEqual([
    {
      ...{ type: "custom_tool_call_output", call_id: "c" },
      output: "Done: move workspace/a.txt to workspace/b/c.txt; remove workspace/a.txt.",
    },
  ]);
  expect([house.read("a.txt"), house.read("b/c.txt")]).toEqual([undefined, "y\n"]);
});

it("changes no file if one hunk does not match, and lists all problems", async () => {
  await using house = await providedFixture(applyPatchTool);
  house.put("a.txt", "a\n");
  house.put("b.txt", "b\nc\n");
  const input = patch(
    ...[
      "*** Add File: n.txt",
      "+n",
      "*** Update File: a.txt",
      "@@",
      "-a",
      "+A",
      "*** Update File: b.txt",
      "@@",
      " b",
      "-x",
      "+y",
    ],
    ...["*** Update File: none.txt", "@@", "-a", "+b"],
  );
  const outcome = await house.call("apply_patch", { input });
  expect(outcome).toMatchObject({ status: "error", text: expect.stringContaining("Nothing was changed.\n`b.txt`") });
  expect(outcome.text).toContain("     1\tb\n     2\tc");
  expect(outcome.text).toContain("`none.txt` does not exist.");
  expect([house.read("n.txt"), house.read("a.txt"), house.read("b.txt")]).toEqual([undefined, "a\n", "b\nc\n"]);
});

it.each([
  ["creates a file that is there", patch("*** Add File: a.txt", "+n"), "exists already"],
  ["moves onto a file that is there", patch("*** Update File: a.txt", "*** Move to: b.txt"), "exists already"],
  ["names a file twice", patch("*** Add File: n", "+n", "*** Add File: ./n", "+m"), "named twice"],
  ["deletes without leave", patch("*** Delete File: a.txt"), "may not delete"],
  ["is none", "diff --git a b", "The patch must begin with"],
])("refuses a patch that %s", async (_, input, why) => {
  await using house = await providedFixture(applyPatchTool);
  house.put("a.txt", "a\n");
  house.put("b.txt", "b\n");
  expect(await house.call("apply_patch", { input })).toMatchObject({
    ...{ status: "error", text: expect.stringContaining(why) },
  });
  expect([house.read("a.txt"), house.read("b.txt")]).toEqual(["a\n", "b\n"]);
});

it("previews a patch, and runs exactly the approved one", async () => {
  await using house = await providedFixture((options) => applyPatchTool(options), {
    ...{ autonomy: "A2", approvals: { patience: "suspend" } },
  });
  house.put("a.txt", "one\n");
  const input = patch("*** Update File: a.txt", "@@", "-one", "+1", "*** Add File: n.txt", "+n");
  const held = await house.call("apply_patch", { input });
  const [request] = await house.runtime.approvals.list({ state: "pending" });
  expect(JSON.stringify(request)).toContain("-one\\n+1");
  await house.runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  house.put("a.txt", "one\ntwo\n"); // what was shown is not what would be written
  expect([held.status, (await house.call("apply_patch", { input })).status]).toEqual(["pending", "denied"]);
  expect(await house.call("apply_patch", { input })).toMatchObject({ status: "pending" });
  expect([house.read("a.txt"), house.read("n.txt")]).toEqual(["one\ntwo\n", undefined]);
  const [again] = await house.runtime.approvals.list({ state: "pending" });
  await house.runtime.approvals.decide(again?.id ?? "", { decision: "approved", by: { user: "grace" } });
  expect(await house.call("apply_patch", { input })).toMatchObject({ status: "ok" });
  expect([house.read("a.txt"), house.read("n.txt")]).toEqual(["1\ntwo\n", "n\n"]);
});

it("treats a patch that deletes as a critical call", async () => {
  await using house = await providedFixture((options) => applyPatchTool({ ...options, delete: true }));
  const explained = await house.runtime.explain(
    { tool: "apply_patch", arguments: { input: patch("*** Delete File: a.txt") } },
    agent,
  );
  expect(explained).toMatchObject({ reached: "verdict", decision: { risk: "critical", verdict: "CONFIRM" } });
});

it("refuses invalid operations before it runs", async () => {
  await using house = await providedFixture(applyPatchTool);
  for (const given of [{}, { operation: { type: "truncate_file", path: "a" } }, { operation: { type: "update_file" } }])
    expect(await house.call("apply_patch", given)).toMatchObject({ refusal: { code: "arguments_invalid" } });
});
