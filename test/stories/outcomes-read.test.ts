/** Every interface gives a model the same text for the same outcome: what happened, and what to do next. */
import { describe, expect, it } from "vitest";
import { openAgentTools } from "../../packages/agents/src/index.ts";
import { defineTool, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { asker } from "../fakes/runtime-fixture.ts";
import { serveRuntime } from "../fakes/served-runtime.ts";

const base = { description: "Does it.", effects: "write", idempotent: false, input: { type: "object" } } as const;
const picture = { type: "image", mediaType: "image/png", data: "aGk=" } as const;
const ran: string[] = [];
const tools = [
  defineTool({
    ...{ ...base, name: "send", risk: "high" },
    input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    preview: () => ({ summary: "a mail to\u{200b} ada", diff: "+ hello" }),
    execute: () => `sent ${ran.push("send")}`,
  }),
  defineTool({ ...base, name: "wipe", risk: "critical", execute: () => `wiped ${ran.push("wipe")}` }),
  defineTool({
    ...{ ...base, name: "fail", risk: "safe" },
    execute: () => ({ isError: true, content: [{ type: "text", text: "No such file." }, picture] }),
  }),
  defineTool({
    ...{ ...base, name: "busy", risk: "safe" },
    execute: () => {
      throw Object.assign(new Error("too many at once"), { retryable: true });
    },
  }),
];

const rows: readonly [what: string, options: RuntimeOptions, call: { tool: string; arguments?: object }, RegExp][] = [
  ["an unknown tool", {}, { tool: "sned" }, /^No tool is named `sned`.*[Ll]ist the tools to see what there is\.$/],
  ["wrong arguments", {}, { tool: "send", arguments: { to: 7 } }, /`to`.*Change the arguments and send it again\.$/],
  [
    "a rule that denies",
    { policy: { rules: [{ effect: "deny", tool: "wipe", id: "no-wipe" }] } },
    { tool: "wipe" },
    /^The policy does not allow `wipe`: .*no-wipe.* Do it another way, or tell the user that it is not allowed\.$/,
  ],
  [
    "a blocked call",
    { autonomy: "A1" },
    { tool: "wipe" },
    /^`wipe` is blocked at risk critical: .* Do it another way, or tell the user that it is blocked\.$/,
  ],
  [
    "a preview",
    { autonomy: "A0" },
    { tool: "send", arguments: { to: "ada" } },
    /^Not run: .*`send` is only previewed\. It would do this: a mail to\[U\+200B\] ada\n\+ hello$/,
  ],
  [
    "a call that waits for a person",
    { autonomy: "A2" },
    { tool: "send", arguments: { to: "ada" } },
    /^Not run yet: `send` needs a person's approval\. .*a person must decide it.*send the same call again/,
  ],
  ["the tool's own error", {}, { tool: "fail" }, /^No such file\.$/],
  [
    "a failure that can be tried again",
    {},
    { tool: "busy" },
    /^`busy` failed: Error: too many at once Try again later\.$/,
  ],
];

/** Removes the ids and times, which differ at each try. */
function plain(text: string): string {
  return text.replaceAll(/(apr|call)_[0-9a-f-]+|\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…");
}

describe("what a model reads", () => {
  it.each(rows)("of %s is the same text at every interface", async (_what, options, call, expected) => {
    const { runtime, agent, connect } = await serveRuntime({ tools, ...options });
    await using library = openAgentTools(runtime, asker);
    const answer = await library.call({ name: call.tool, arguments: call.arguments });
    const text = answer.text.replace(/\n\[image: .*\]$/, ""); // the other interfaces have the picture as a block
    expect(text).toMatch(expected);
    const http = await agent.calls.call({ tool: call.tool, arguments: { ...call.arguments }, patience: "suspend" });
    expect(plain(http.text)).toBe(plain(text));
    for (const era of ["2025-11-25", "2026-07-28"] as const) {
      const client = await connect("/mcp", era);
      const { content, isError } = await client.callTool({ name: call.tool, arguments: { ...call.arguments } });
      expect(isError).toBe(true);
      const output = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ");
      expect(plain(output)).toBe(plain(text));
    }
    const read = JSON.stringify([http, text]);
    expect(read).not.toMatch(/\/approve\b|approvals approve/);
    expect(ran).toEqual([]);
  });

  it("keeps the pictures of the tool's own error", async () => {
    const { agent, connect } = await serveRuntime({ tools });
    const answer = await (await connect()).callTool({ name: "fail" });
    expect(answer.content).toEqual([
      { type: "text", text: "No such file." },
      { type: "image", mimeType: "image/png", data: "aGk=" },
    ]);
    expect((await agent.calls.call({ tool: "fail" })).content).toHaveLength(2);
  });

  it("of a refusal is its reason and its advice in a script too", async () => {
    const rule = { effect: "deny", tool: "send", arguments: { "$.to": { like: "eve*" } } } as const;
    const { runtime } = await serveRuntime({ tools, policy: { rules: [rule] }, chains: {} });
    const code = `try { await tools.send({ to: "eve" }) }
      catch (e) { return { code: e.code, message: e.message, advice: e.advice } }`;
    const outcome = await runtime.invoke({ tool: "tool_chain", arguments: { code, language: "javascript" } }, asker);
    expect(outcome.text).toContain("The policy does not allow `send`");
    expect(outcome.text).toContain('"advice":"Do it another way, or tell the user that it is not allowed."');
    expect(outcome.text).toContain("permission_denied");
  });
});
