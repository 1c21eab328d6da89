/**
 * Spans of agents, through the OpenTelemetry API: they go where the user's SDK sends them, and cost next to nothing without
 * one. Names are those of the GenAI conventions. Arguments, results and texts are left out unless `traceContent` is set.
 */
import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { messageOf } from "../calls/fault.ts";
import type { ToolOutcome } from "../calls/outcome.ts";

const tracer = trace.getTracer("postern");

export type SpanSettings = {
  readonly name: string;
  readonly kind: "client" | "internal";
  readonly attributes: Attributes;
  /** The span it belongs under, when that is not the active one: of a run that goes on in another process. */
  readonly parent?: SpanContext | undefined;
};

/** Runs `body` inside a span that ends with it; a throw marks the span as failed. */
export function inSpan<Result>(
  { name, kind, attributes, parent }: SpanSettings,
  body: (span: Span) => Promise<Result>,
): Promise<Result> {
  const options = { kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes };
  return tracer.startActiveSpan(name, options, contextFor(parent), async (span) => {
    try {
      return await body(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}

function contextFor(parent: SpanContext | undefined): Context {
  return parent === undefined ? context.active() : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true });
}

/** The host's trace, so that the audit log and the trace have one id. Undefined when none is active. */
export function activeTraceId(): string | undefined {
  const span = trace.getActiveSpan()?.spanContext();
  return span !== undefined && trace.isSpanContextValid(span) ? span.traceId : undefined;
}

/** What the call's end adds to its span. A refusal is an error of the type of its code. */
export function recordOutcome(span: Span, outcome: ToolOutcome): void {
  const { callId, status, refusal } = outcome;
  span.setAttributes({ "postern.call.id": callId, "postern.status": status });
  if (refusal === undefined) return;
  span.setAttribute("error.type", refusal.code);
  span.setStatus({ code: SpanStatusCode.ERROR, message: refusal.code });
}
