/**
 * `@postern/core/tracing`: the OpenTelemetry API, an optional peer. It is loaded when a process has registered a tracer
 * provider, so that a process without one neither needs nor loads it.
 *
 * @packageDocumentation
 */
import { createRequire } from "node:module";
import type { Context } from "@opentelemetry/api";
import { codeOf } from "./system/error-code.ts";

export type TracingApi = typeof import("@opentelemetry/api");

/** Where every copy of the API, version 1, keeps what a process registers. */
const registry = Symbol.for("opentelemetry.js.api.1");
const registered = globalThis as { readonly [registry]?: { readonly trace?: unknown } };
const require = createRequire(import.meta.url);
let loaded: TracingApi | "missing" | undefined;

/** Returns undefined while no tracer provider is registered, and when the API is not installed. */
export function tracing(): TracingApi | undefined {
  if (registered[registry]?.trace === undefined) return undefined;
  loaded ??= load();
  return loaded === "missing" ? undefined : loaded;
}

function load(): TracingApi | "missing" {
  try {
    return require("@opentelemetry/api") as TracingApi;
  } catch (error) {
    if (codeOf(error) !== "MODULE_NOT_FOUND") throw error;
    process.emitWarning("Postern makes no spans: install `@opentelemetry/api` beside it.");
    return "missing";
  }
}

/** Runs `body` in the context that the sender of `meta` has put into it: W3C trace context, with the usual propagators. */
export function inSentContext<Result>(meta: Readonly<Record<string, unknown>>, body: () => Result): Result {
  const { context, propagation } = tracing() ?? {};
  if (context === undefined || propagation === undefined) return body();
  return context.with(propagation.extract(context.active(), meta, textsOnly), body);
}

/** The sender may be anyone, and propagators expect texts. */
const textsOnly = {
  keys: (meta: Readonly<Record<string, unknown>>): string[] => Object.keys(meta),
  get: (meta: Readonly<Record<string, unknown>>, key: string): string | undefined => {
    const value = meta[key];
    return typeof value === "string" ? value : undefined;
  },
};

/** `meta` with the active context for its receiver. The same object if there is no tracer provider. */
export function withActiveContext<Meta extends object>(meta: Meta | undefined): Meta | undefined {
  const { context, propagation } = tracing() ?? {};
  if (context === undefined || propagation === undefined) return meta;
  const carrier = { ...meta };
  propagation.inject(context.active(), carrier);
  return carrier as Meta;
}

const contentKey = Symbol.for("postern.trace_content");

/** Within `body`, spans of calls hold arguments and results. */
export function withContentInSpans<Result>(body: () => Result): Result {
  const { context } = tracing() ?? {};
  return context === undefined ? body() : context.with(context.active().setValue(contentKey, true), body);
}

export function wantsContent(context: Context): boolean {
  return context.getValue(contentKey) === true;
}
