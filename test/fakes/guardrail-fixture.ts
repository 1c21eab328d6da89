import { z } from "zod";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import {
  createRuntime,
  defineTool,
  type LocalTool,
  type Runtime,
  type RuntimeOptions,
  type ToolOutcome,
} from "../../packages/postern/src/index.ts";
import type { Guardrail } from "../../packages/postern/src/policy/index.ts";

export const writtenTexts: string[] = [];
export const sayTool: LocalTool = defineTool({
  name: "say",
  description: "Says it.",
  risk: "medium",
  effects: "write",
  idempotent: false,
  input: z.object({ text: z.string(), as: z.enum(["text", "json", "error", "throw"]).optional() }),
  execute: async ({ text, as }) => {
    writtenTexts.push(text);
    if (as === "throw") throw new Error(text);
    if (as === "error") return { content: [{ type: "text", text }], isError: true };
    return as === "json" ? { inner: { note: text } } : text;
  },
});

export interface GuardrailFixture extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly clock: FakeClock;
  readonly log: string[];
}
export async function guardrailFixture(
  guardrails: readonly Guardrail[],
  more: Partial<RuntimeOptions> = {},
): Promise<GuardrailFixture> {
  writtenTexts.length = 0;
  const clock = new FakeClock();
  const log: string[] = [];
  const runtime = await createRuntime({
    tools: [sayTool],
    guardrails,
    clock,
    autonomy: "A4",
    log: (problem) => void log.push(problem),
    ...more,
  });
  return { runtime, clock, log, [Symbol.asyncDispose]: () => runtime.close() };
}
export const invokeSay = (runtime: Runtime, text: string, as?: string): Promise<ToolOutcome> =>
  runtime.invoke({ tool: "say", arguments: { text, ...(as !== undefined && { as }) } });
export const finds = (word: string, effect: "DENY" | "CONFIRM" | "RAISE"): Guardrail => ({
  name: "word",
  on: "arguments",
  check: ({ text }) => (text.includes(word) ? [{ effect, why: "a word is not allowed" }] : []),
});
export async function endEvents(runtime: Runtime, callId: string): Promise<readonly string[]> {
  const events = await runtime.audit.query({ callId, limit: 100 });
  return events.map(({ type }) => type).filter((type) => type !== "tool_call.attempted");
}
