import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, afterEach, expect } from "vitest";
import type { Runtime } from "../../packages/postern/src/runtime/api/api.ts";

/** Registers OpenTelemetry for the tests of a file, as a user's SDK does. Each test begins without spans. */
export function recordedSpans(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  afterEach(() => exporter.reset());
  afterAll(() => {
    trace.disable();
    context.disable();
    propagation.disable();
  });
  return exporter;
}

/** Checks after each test that every call of its runtimes made one span, whatever its adapter does. Returns what counts the calls of one. */
export function oneSpanPerCall(): (runtime: Runtime) => void {
  const exporter = recordedSpans();
  const arrived: string[] = [];
  afterEach(() => {
    const spans = exporter
      .getFinishedSpans()
      .filter(({ instrumentationScope }) => instrumentationScope.name === "postern");
    expect(spans.map(({ attributes }) => attributes["postern.call.id"]).toSorted()).toEqual(
      arrived.splice(0).toSorted(),
    );
  });
  return (runtime) =>
    void runtime.watch((event) => {
      if (event.moment === "arrived") arrived.push(event.call.id);
    });
}
