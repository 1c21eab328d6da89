/**
 * Spans of agents and of models, through the OpenTelemetry API: they go where the user's SDK sends them. Names follow the
 * GenAI conventions. Spans of tool calls are made by the runtime.
 */
import type { Attributes, Context, Span, SpanContext } from "@opentelemetry/api";
import { messageOf } from "@postern/core";
import { type TracingApi, tracing } from "@postern/core/tracing";

export type SpanSettings = {
  readonly name: string;
  readonly kind: "client" | "internal";
  readonly attributes: Attributes;
  /** The parent span, when it is not the active one: of a run that continues in another process. */
  readonly parent?: SpanContext | undefined;
};

/** Runs `body` inside a span that ends with it; a throw marks the span as failed. Without a tracer provider there is no span. */
export function inSpan<Result>(
  { name, kind, attributes, parent }: SpanSettings,
  body: (span: Span | undefined) => Promise<Result>,
): Promise<Result> {
  const api = tracing();
  if (api === undefined) return body(undefined);
  const { trace, SpanKind, SpanStatusCode } = api;
  const options = { kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes };
  return trace.getTracer("postern").startActiveSpan(name, options, contextFor(parent, api), async (span) => {
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

function contextFor(parent: SpanContext | undefined, { context, trace, ROOT_CONTEXT }: TracingApi): Context {
  return parent === undefined ? context.active() : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true });
}

/** The host's trace, so that the audit log and the trace have one id. Undefined when none is active. */
export function activeTraceId(): string | undefined {
  const { trace } = tracing() ?? {};
  const span = trace?.getActiveSpan()?.spanContext();
  return span !== undefined && trace?.isSpanContextValid(span) === true ? span.traceId : undefined;
}
