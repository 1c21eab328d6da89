/**
 * Spans of agents, through the OpenTelemetry API: they go where the user's SDK sends them, and cost almost nothing
 * without one. Names follow the GenAI conventions. Arguments, results and texts are left out unless `traceContent` is
 * set.
 */
import { createRequire } from "node:module";
import type { Attributes, Context, Span, SpanContext } from "@opentelemetry/api";
import { messageOf, type ToolOutcome } from "@postern/core";

type Api = typeof import("@opentelemetry/api");

const require = createRequire(import.meta.url);
let loaded: Api | undefined;

/**
 * Loaded with the first span, because the API loads slowly. The user's SDK registers itself globally, so it is found
 * even if the user has another copy of the API.
 */
function api(): Api {
  loaded ??= require("@opentelemetry/api") as Api;
  return loaded;
}

export type SpanSettings = {
  readonly name: string;
  readonly kind: "client" | "internal";
  readonly attributes: Attributes;
  /** The parent span, when it is not the active one: of a run that continues in another process. */
  readonly parent?: SpanContext | undefined;
};

/** Runs `body` inside a span that ends with it; a throw marks the span as failed. */
export function inSpan<Result>(
  { name, kind, attributes, parent }: SpanSettings,
  body: (span: Span) => Promise<Result>,
): Promise<Result> {
  const { trace, SpanKind, SpanStatusCode } = api();
  const options = { kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes };
  return trace.getTracer("postern").startActiveSpan(name, options, contextFor(parent), async (span) => {
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
  const { context, trace, ROOT_CONTEXT } = api();
  return parent === undefined ? context.active() : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true });
}

/** The host's trace, so that the audit log and the trace have one id. Undefined when none is active. */
export function activeTraceId(): string | undefined {
  const { trace } = api();
  const span = trace.getActiveSpan()?.spanContext();
  return span !== undefined && trace.isSpanContextValid(span) ? span.traceId : undefined;
}

/** Adds the end of a call to its span. A refusal is an error of the type of its code. */
export function recordOutcome(span: Span, outcome: ToolOutcome): void {
  const { callId, status, refusal } = outcome;
  span.setAttributes({ "postern.call.id": callId, "postern.status": status });
  if (refusal === undefined) return;
  span.setAttribute("error.type", refusal.code);
  span.setStatus({ code: api().SpanStatusCode.ERROR, message: refusal.code });
}
