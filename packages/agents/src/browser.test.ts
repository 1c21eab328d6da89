import type { JsonObject } from "@postern/core";
import { expect, it } from "vitest";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import { openAgentTools, type ToolUse } from "./agent-tools.ts";
import { anthropicTools, anthropicToolUses } from "./anthropic.ts";
import { browserTools } from "./browser.ts";
import type { DeclareNote } from "./declare.ts";
import { googleTools, googleToolUses } from "./google.ts";
import { openaiChatTools, openaiTools, openaiToolUses } from "./openai.ts";

const allowedHosts = ["example.org", "*.example.org"];

it("declares the tools as each provider has them, and leaves one out with one note where it has none", async () => {
  await using runtime = await createRuntime({ tools: browserTools({ allowedHosts }) });
  const tools = openAgentTools(runtime).list();
  const notes: DeclareNote[] = [];
  const onNote = (note: DeclareNote): void => void notes.push(note);
  expect(openaiTools(tools, { onNote })).toEqual([
    expect.objectContaining({ type: "function", name: "browser", strict: true }),
    { type: "computer" },
  ]);
  expect(anthropicTools(tools, { onNote })).toEqual([
    { type: "browser_toolset_20260801", configs: expect.objectContaining({ javascript_exec: { enabled: false } }) },
    { type: "computer_toolset_20260801" },
  ]);
  expect(notes).toEqual([]);
  expect(googleTools(tools, { onNote })).toEqual([
    { computerUse: { environment: "ENVIRONMENT_BROWSER", excludedPredefinedFunctions: ["search"] } },
  ]);
  expect(notes).toEqual([{ tool: "browser", note: "left_out", reason: "it has no entry for google" }]);
  expect(openaiChatTools(tools, { onNote: () => undefined })).toEqual([]);
});

it("states the viewport where a provider's declaration has it", async () => {
  const declare = { openai: "computer_use_preview", anthropic: "computer_20251124" } as const;
  const viewport = { width: 800, height: 600 };
  await using runtime = await createRuntime({ tools: browserTools({ allowedHosts, declare, viewport }) });
  expect(runtime.tools.offer("computer")?.providerSpecs).toMatchObject({
    openai: { type: "computer_use_preview", display_width: 800, display_height: 600, environment: "browser" },
    anthropic: { type: "computer_20251124", name: "computer", display_width_px: 800, display_height_px: 600 },
  });
});

const openaiCall = (action: object, more: object = {}): ToolUse[] =>
  openaiToolUses([{ type: "computer_call", call_id: "c", pending_safety_checks: [], action, ...more }]);
const anthropicCall = (name: string, input: object): ToolUse[] =>
  anthropicToolUses([{ type: "tool_use", id: "t", name, input, toolset_name: "browser" }]);
const googleCall = (name: string, args: object): ToolUse[] => googleToolUses([{ functionCall: { name, args } }]);

it.each([
  [
    "a point outside",
    openaiCall({ type: "click", button: "left", x: 1280, y: 10 }),
    "the point 1280, 10 lies outside of the page, which has 1280 × 800 pixels",
  ],
  ["a button that is none", openaiCall({ type: "click", button: "third", x: 1, y: 1 }), "`click.button`"],
  ["an action that is none", openaiCall({ type: "fly" }), '"fly" is not a known action'],
  ["a key that is none", openaiCall({ type: "keypress", keys: ["HYPER"] }), "`HYPER` is not a key"],
  ["no action", openaiToolUses([{ type: "computer_call", call_id: "c" }]), "no action is named"],
  [
    "a second action",
    openaiToolUses([{ type: "computer_call", actions: [{ type: "wait" }, { type: "x" }] }]),
    '"x" is no',
  ],
  [
    "a key that is held and writes",
    anthropicCall("left_click", { coordinate: [1, 1], text: "a" }),
    '"a" cannot be held',
  ],
  ["a negative point", anthropicCall("left_click", { coordinate: [-1, 5] }), "`left_click.coordinate.0`"],
  ["an element reference", anthropicCall("left_click", { target: { type: "ref", ref: "ref_7" } }), "element reference"],
  ["a member that is off", anthropicCall("javascript_exec", { code: "1" }), '"javascript_exec" is not a known action'],
  ["too long a wait", anthropicCall("wait", { duration: 31 }), "`wait.duration`"],
  ["an empty region", anthropicCall("zoom", { region: [10, 10, 10, 20] }), "the region is empty"],
  ["a point beyond Gemini's grid", googleCall("click_at", { x: 1000, y: 0 }), "`click_at.x`"],
  ["a host that is not allowed", googleCall("navigate", { url: "https://example.com/" }), "`example.com` is not among"],
  ["a file", anthropicCall("navigate", { url: "file:///etc/passwd" }), "is not an http or https URL"],
  [
    "a host that two parsers read differently",
    anthropicCall("navigate", { url: "https://a@example.org/" }),
    "no clear host",
  ],
])("refuses %s before anything starts", async (_what, [use = { name: "none" }], message) => {
  const box = browserTools({ allowedHosts, executablePath: "/nowhere/chromium" });
  await using runtime = await createRuntime({ tools: box });
  await using tools = openAgentTools(runtime);
  const answer = await tools.call(use);
  expect(answer.outcome).toMatchObject({ status: "error", refusal: { code: "arguments_invalid" } });
  expect(answer.text.replaceAll('"HYPER"', "`HYPER`")).toContain(message);
});

it.each([
  ["screenshot", {}, "safe"],
  ["scroll", { target: { type: "coordinate", x: 1, y: 1 }, scroll_direction: "up" }, "safe"],
  ["left_click", { target: { type: "coordinate", x: 1, y: 1 } }, "medium"],
  ["key", { text: "ctrl+Return" }, "medium"],
  ["navigate", { url: "https://www.example.org/a?b" }, "medium"],
])("judges %s %j as %s", async (name, input, risk) => {
  await using runtime = await createRuntime({
    ...{ tools: browserTools({ allowedHosts }), autonomy: "A3" },
    policy: { rules: [{ effect: "confirm", target: { host: "*.example.org" }, risk: "medium" }] },
  });
  const [use = { name: "none" }] = anthropicCall(name, input);
  const explained = await runtime.explain({ tool: "browser", arguments: use.arguments as JsonObject });
  expect(explained).toMatchObject({ decision: { risk } });
  const asks = JSON.stringify(explained).includes("rule confirm #1");
  expect(asks).toBe(name === "navigate"); // where no page is open a click has no target
});

it.each([
  [{ allowedHosts: ["https://example.org"] }, "`https://example.org`, which is no host"],
  [{ allowedHosts, viewport: { width: 0, height: 5 } }, "`width` is 0"],
  [{ allowedHosts, risk: "safe" as "medium" }, "`risk` is `safe`"],
  [{ allowedHosts, maxPages: 0.5 }, "`maxPages` is 0.5"],
])("refuses the options %j", (options, message) => {
  expect(() => browserTools(options)).toThrow(message);
});
