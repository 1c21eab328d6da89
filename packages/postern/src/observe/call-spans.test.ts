import { SpanStatusCode, trace } from "@opentelemetry/api";
import { FakeClock, settled } from "@postern/core/testing";
import { describe, expect, it } from "vitest";
import { recordedSpans } from "../../../../test/fakes/spans.ts";
import { createRuntime } from "../runtime/create.ts";
import type { AnyTool } from "../tools/kinds.ts";
import type { ToolContext } from "../tools/tool.ts";

const exporter = recordedSpans();
const tracer = trace.getTracer("test");

function tool(name: string, risk: "safe" | "high", execute: (input: unknown, inside: ToolContext) => unknown): AnyTool {
  return {
    ...({ name, risk, description: `${name}.`, effects: "write", idempotent: false } as const),
    inputSchema: { type: "object", properties: { to: { type: "string" } } },
    execute: execute as never,
  };
}

/** Makes the call in a span of its caller. */
function asCaller<Result>(body: () => Promise<Result>): Promise<Result> {
  return tracer.startActiveSpan("caller", (span) => body().finally(() => span.end()));
}

function named(name: string) {
  const spans = exporter.getFinishedSpans().filter((span) => span.name === name);
  const [span] = spans;
  if (span === undefined || spans.length > 1) throw new Error(`There are ${spans.length} spans \`${name}\`.`);
  return span;
}

describe("the span of a call", () => {
  it("has the caller's span as its parent, the times of the events, and no arguments", async () => {
    const clock = new FakeClock();
    const slow = tool("slow", "safe", () => clock.advance(1500.5).then(() => "slept"));
    await using runtime = await createRuntime({ clock, tools: [slow], autonomy: "A4" });
    const call = { tool: "slow", arguments: { to: "ada" } };
    const outcome = await asCaller(() => runtime.invoke(call, { toolCallId: "c1", runId: "run_1" }));
    const span = named("execute_tool slow");
    expect(span.parentSpanContext?.spanId).toBe(named("caller").spanContext().spanId);
    expect(span.startTime).toEqual([Date.UTC(2026, 10, 20) / 1000, 0]);
    expect(span.duration).toEqual([1, 500_500_000]);
    expect(span.attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "slow",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": "c1",
      "gen_ai.conversation.id": "run_1",
      "postern.call.id": outcome.callId,
      "postern.status": "ok",
      "postern.verdict": "ALLOW",
      "postern.risk": "safe",
    });
  });

  it("says when a person was asked and how the person decided", async () => {
    const clock = new FakeClock();
    const send = tool("send", "high", () => "sent");
    await using runtime = await createRuntime({ clock, tools: [send], approvals: { patience: "wait" } });
    const running = runtime.invoke({ tool: "send" });
    await settled();
    await clock.advance(2000);
    const [request] = await runtime.approvals.list({ state: "pending" });
    const id = request?.id ?? "";
    await runtime.approvals.decide(id, { decision: "approved", by: { user: "grace" } });
    await running;
    const start = Date.UTC(2026, 10, 20) / 1000;
    const { attributes, events } = named("execute_tool send");
    expect(events.map(({ name, time, attributes: of }) => ({ name, time, of }))).toEqual([
      { name: "gate.required", time: [start, 0], of: { "postern.approval.id": id } },
      {
        ...{ name: "gate", time: [start + 2, 0] },
        of: { "postern.approval.id": id, "postern.approval.decision": "approved" },
      },
    ]);
    expect(attributes).toMatchObject({ "postern.verdict": "CONFIRM", "postern.risk": "high" });
  });

  it.each([
    ["a tool that does not exist", "none", "tool_unknown"],
    ["a tool that throws", "broken", "tool_failed"],
  ])("is an error of the type of the refusal: %s", async (_, name, code) => {
    const broken = tool("broken", "safe", () => {
      throw new Error("no");
    });
    await using runtime = await createRuntime({ tools: [broken], autonomy: "A4" });
    await runtime.invoke({ tool: name });
    const { status, attributes } = named(`execute_tool ${name}`);
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: code });
    expect(attributes).toMatchObject({ "error.type": code, "postern.status": "error" });
  });

  it("holds what the tool does, and the calls that the tool makes", async () => {
    const inner = tool("inner", "safe", () => "ran");
    const outer = tool("outer", "safe", async (_, inside) => {
      tracer.startSpan("query").end();
      return (await inside.call({ tool: "inner" })).text;
    });
    await using runtime = await createRuntime({ tools: [inner, outer], autonomy: "A4" });
    await runtime.invoke({ tool: "outer" });
    const { spanId } = named("execute_tool outer").spanContext();
    for (const name of ["query", "execute_tool inner"]) expect(named(name).parentSpanContext?.spanId).toBe(spanId);
  });
});
