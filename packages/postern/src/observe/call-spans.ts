/**
 * One OpenTelemetry span `execute_tool NAME` for every arrival of a call, from `arrived` to `left`, with the GenAI
 * conventions. Arguments and results are left out unless the caller asks for them (`withContentInSpans`).
 *
 * Invariant: without a tracer provider, a call makes no object here.
 */
import type { Attributes, Context, HrTime, Span } from "@opentelemetry/api";
import { type CallEvent, momentNames, type ToolCall, type ToolOutcome } from "@postern/core";
import { type TracingApi, tracing, wantsContent } from "@postern/core/tracing";
import type { Tools } from "../tools/tool.ts";
import { publicName } from "../tools/upstream-names.ts";

export interface CallSpansOptions {
  readonly tools: Pick<Tools, "find">;
  /** Masks secrets in arguments. */
  readonly redact: (text: string) => string;
}

interface OpenSpan {
  readonly span: Span;
  readonly context: Context;
}

export class CallSpans {
  readonly #options: CallSpansOptions;
  /** By the ids of calls. */
  readonly #open = new Map<string, OpenSpan>();

  constructor(options: CallSpansOptions) {
    this.#options = options;
  }

  see(event: CallEvent): void {
    if (event.moment === "arrived") this.#start(event.call);
    else if (this.#open.size > 0 && event.moment !== "noted") this.#add(event);
  }

  /** Runs the tool of a call, so that what it does belongs to the span of the call. */
  within<Result>({ id }: ToolCall, body: () => Result): Result {
    const open = this.#open.size === 0 ? undefined : this.#open.get(id);
    const api = open && tracing();
    return api === undefined ? body() : api.context.with(open?.context ?? api.context.active(), body);
  }

  /** The parent of a child call is the call that made it; a script may run in any context. */
  #start(call: ToolCall): void {
    const api = tracing();
    if (api === undefined) return;
    const { context, trace } = api;
    const parent = this.#open.get(call.parentId ?? "")?.context ?? context.active();
    const name = call.action === "default" ? call.tool : publicName(call.tool, call.action);
    const attributes = this.#attributes(call, name, wantsContent(parent));
    const options = { startTime: timeOf(call.arrivedAt), attributes };
    const span = trace.getTracer("postern").startSpan(`execute_tool ${name}`, options, parent);
    this.#open.set(call.id, { span, context: trace.setSpan(parent, span) });
  }

  #attributes(call: ToolCall, name: string, hasContent: boolean): Attributes {
    const { id, tool, action, toolCallId, authority, text } = call;
    const found = this.#options.tools.find(tool, action);
    const server = found?.facts.server;
    return {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      "gen_ai.tool.type": found?.kind === "provider_defined" ? "extension" : "function",
      "gen_ai.conversation.id": authority.runId,
      "postern.call.id": id,
      ...(toolCallId !== undefined && { "gen_ai.tool.call.id": toolCallId }),
      ...(server !== undefined && { "mcp.method.name": "tools/call", "postern.server": server }),
      ...(hasContent && { "gen_ai.tool.call.arguments": this.#options.redact(text) }),
    };
  }

  #add(event: Exclude<CallEvent, { readonly moment: "noted" }>): void {
    const { call, moment } = event;
    const open = this.#open.get(call.id);
    if (open === undefined) return;
    const { span } = open;
    if (moment === "held") {
      span.addEvent(momentNames.held.audit, { "postern.approval.id": event.approvalId }, timeOf(event.at));
    } else if (moment === "decided") {
      const decided = { "postern.approval.id": event.approvalId, "postern.approval.decision": event.as };
      span.addEvent(momentNames.decided.audit, decided, timeOf(event.at));
    } else if ((moment === "attempted" || moment === "ended") && event.weighing !== undefined) {
      const { verdict, risk } = event.weighing;
      span.setAttributes({ "postern.verdict": verdict, "postern.risk": risk });
    } else if (moment === "left") {
      this.#open.delete(call.id);
      this.#end(open, event);
    }
  }

  #end({ span, context }: OpenSpan, { call, outcome, durationMs }: Extract<CallEvent, { readonly moment: "left" }>) {
    const api = tracing();
    if (api !== undefined) recordOutcome(span, outcome, api);
    if (wantsContent(context)) span.setAttribute("gen_ai.tool.call.result", outcome.text);
    span.end(timeOf(call.arrivedAt + durationMs));
  }
}

/** A refusal is an error of the type of its code. */
function recordOutcome(span: Span, { status, approvalId, refusal }: ToolOutcome, { SpanStatusCode }: TracingApi): void {
  span.setAttribute("postern.status", status);
  if (approvalId !== undefined) span.setAttribute("postern.approval.id", approvalId);
  if (refusal === undefined) return;
  span.setAttribute("error.type", refusal.code);
  span.setStatus({ code: SpanStatusCode.ERROR, message: refusal.code });
}

/** Seconds and nanoseconds: the API reads a small number as the age of the process. */
function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
