import type { JsonObject } from "../../packages/core/src/json.ts";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import {
  createRuntime,
  defineTool,
  type Runtime,
  type RuntimeOptions,
  type ToolContext,
} from "../../packages/postern/src/index.ts";
import { newStore } from "./story-store.ts";

export interface RuntimeFixture extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly clock: FakeClock;
  /** The arguments of every execution, in order. */
  readonly ran: JsonObject[];
}

const text = {
  type: "object",
  properties: { to: { type: "string" }, slow: { type: "boolean" } },
  required: ["to"],
} as const;

/** A runtime with `echo` (safe), `mail` (high risk, not idempotent) and `drop` (critical), which all record their runs. */
export async function runtimeFixture(
  options: RuntimeOptions = {},
  more: readonly Parameters<typeof defineTool>[0][] = [],
): Promise<RuntimeFixture> {
  const ran: JsonObject[] = [];
  const clock = new FakeClock();
  const execute = async (given: unknown, context: ToolContext): Promise<string> => {
    const args = given as JsonObject; // the schema says so
    if (args["slow"] === true)
      await new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve()));
    ran.push(args);
    return `to ${String(args["to"])}`;
  };
  const tools = [
    defineTool({
      name: "echo",
      description: "Says it back.",
      risk: "safe",
      effects: "read",
      idempotent: true,
      input: text,
      execute,
    }),
    defineTool({
      name: "mail",
      description: "Sends a mail.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: text,
      execute,
    }),
    defineTool({
      name: "drop",
      description: "Drops a table.",
      risk: "critical",
      effects: "write",
      idempotent: false,
      input: text,
      execute,
    }),
    ...more.map((tool) => defineTool(tool)),
  ];
  const runtime = await createRuntime({
    clock,
    tools,
    approvals: { patience: "suspend" },
    store: newStore("memory"),
    ...options,
  });
  return { runtime, clock, ran, [Symbol.asyncDispose]: () => runtime.close() };
}

export const boss = { user: "boss", via: "token:operator" } as const;
export const asker = {
  principal: { tenant: "default", agent: "a", user: "asker", via: "token:agent" },
} as const;

/** Returns the types of the audit events of one trace, or of all. */
export async function eventTypes(runtime: Runtime, traceId?: string): Promise<readonly string[]> {
  const events = await runtime.audit.query({
    limit: 10_000,
    ...(traceId !== undefined && { traceId }),
  });
  return events.map(({ type }) => type);
}
