import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CallEvent, createRuntime, type JsonObject, type Runtime } from "../../packages/postern/src/index.ts";
import type { AgentProgress } from "../../packages/postern/src/observe/index.ts";
import type { Redactor } from "../../packages/postern/src/secrets/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { canaries, encodings } from "./canaries.ts";
import { leakyTools, ways } from "./leaky-tools.ts";
import { type SinkReport, Sinks } from "./sinks.ts";

export interface CanaryReport {
  readonly canaries: number;
  readonly encodings: readonly string[];
  readonly calls: number;
  readonly sinks: readonly SinkReport[];
  readonly hits: number;
  /** The number of masks in all sinks; 0 if nothing had to be masked. */
  readonly masks: number;
  readonly seconds: number;
  readonly examples: Readonly<Record<string, readonly string[]>>;
}

/** A redactor that masks nothing: with it, every sink must contain a canary, or the check finds nothing. */
const blind: Redactor = { learn() {}, redact: (text) => text, finds: () => false };
const boss = { user: "boss", via: "token:operator" } as const;

/** Lends canaries to leaky tools and a leaky server, sends them in every field of a caller, and reads every sink. */
export async function runCanary(
  count: number,
  options: { readonly blind?: boolean; readonly idle?: boolean } = {},
): Promise<CanaryReport> {
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "postern-canary-"));
  const sinks = new Sinks();
  try {
    const values = canaries(count);
    const redactor = options.blind === true ? blind : createRedactor();
    for (const value of values) redactor.learn(value);
    const runtime = await open(folder, values, redactor, sinks);
    const calls = options.idle === true ? 0 : await leakCanary(runtime, values, sinks);
    await listen(runtime, sinks);
    sinks.addFiles(folder, sinkOf); // the write-ahead log is gone when the store has closed
    await runtime.close();
    sinks.addFiles(folder, sinkOf);
    const report = sinks.report(count);
    return {
      canaries: count,
      encodings: Object.keys(encodings),
      calls,
      sinks: report,
      hits: report.reduce((sum, { hits }) => sum + hits, 0),
      masks: sinks.count("[redacted]"),
      seconds: Math.round((performance.now() - began) / 100) / 10,
      examples: Object.fromEntries(
        report.filter(({ hits }) => hits > 0).map(({ sink }) => [sink, sinks.examples(count, sink)]),
      ),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The keys and anchors of the audit log, which contain no tool output. */
const keySink = "other files";

/** Returns a sentence for each reason why a report is worthless: no canary was used, or a sink would not show one. */
export function faultsOf(report: CanaryReport, control: CanaryReport): readonly string[] {
  const deaf = control.sinks.filter(({ sink, hits }) => hits === 0 && sink !== keySink).map(({ sink }) => sink);
  return [
    ...(report.calls === 0 ? ["No call was made."] : []),
    ...(report.masks === 0 ? ["Nothing had to be masked: no canary was said."] : []),
    ...(control.hits === 0 ? ["Without masking no canary was found anywhere."] : []),
    ...(deaf.length > 0 ? [`Without masking these sinks show no canary: ${deaf.join(", ")}.`] : []),
  ];
}

async function open(folder: string, values: readonly string[], redactor: Redactor, sinks: Sinks): Promise<Runtime> {
  const server = join(import.meta.dirname, "leaky-server.ts");
  const runtime = await createRuntime({
    tools: leakyTools(),
    servers: {
      leaky: { command: process.execPath, args: [server], env: { CANARY: "secret://c0/token" }, risk: "safe" },
      dying: {
        command: process.execPath,
        args: ["-e", "console.error('cannot log in with ' + process.env.CANARY); process.exit(1)"],
        env: { CANARY: "secret://c1/token" },
      },
    },
    secrets: {
      get: async (connector) => {
        const value = values[Number(connector.slice(1))] ?? "";
        return { reveal: () => value };
      },
    },
    redactor,
    secretPatterns: "off",
    store: `sqlite:${join(folder, "postern.db")}`,
    folder,
    archive: { folder: join(folder, "runs") },
    approvals: { patience: "suspend" },
    policy: { default: "allow" },
    hooks: {
      toolStart: (event) => sinks.add("hooks", event),
      toolEnd: (event) => sinks.add("hooks", event),
    },
    log: (problem) => sinks.add("log", problem),
  });
  runtime.watch((event) => {
    sinks.add(`stream: ${event.moment}`, streamed(event));
    // A subscriber throws the canary, and the log gets its error.
    if (event.moment === "emitted") throw new Error(`watcher: ${JSON.stringify(event.data)}`);
  });
  return runtime;
}

/** A refused call returns the caller's own arguments to it; the stored copy is checked in the store. */
function streamed(event: CallEvent): unknown {
  if (!("call" in event)) return event;
  const { arguments: _, text: __, ...call } = event.call as typeof event.call & { readonly text?: string };
  return { ...event, call };
}

async function leakCanary(runtime: Runtime, values: readonly string[], sinks: Sinks): Promise<number> {
  let calls = 0;
  const say = async (tool: string, given: JsonObject, context: object = {}, action?: string): Promise<void> => {
    calls += 1;
    const request = { tool, arguments: given, ...(action !== undefined && { action }) };
    const onProgress = (step: AgentProgress): void => sinks.add("progress", step);
    try {
      sinks.add("results", await runtime.invoke(request, { onProgress, ...context }));
    } catch (error) {
      sinks.add("errors", error);
    }
  };
  for (const [i, value] of values.entries()) {
    for (const [at, [encoding, encode]] of Object.entries(encodings).entries()) {
      const shift = (i + at) % 3;
      const output = encode(value, shift);
      for (const by of at < 2 ? ways : [ways[(i + at) % ways.length] ?? "text"])
        await say("leak", { connector: `c${i}`, encoding, shift, by });
      await say("leak", { [output]: [output] });
      await say(output, { i }, {}, output);
      if (at % 3 === i % 3) await ask(runtime, say, output, sinks, `${i}-${at}`);
    }
    await say("leaky__echo", { i });
    await say("leaky__fail", { i });
  }
  return calls;
}

/** Every text that a caller, an operator or an approver can add to a call. */
async function ask(
  runtime: Runtime,
  say: (tool: string, given: JsonObject, context?: object) => Promise<void>,
  output: string,
  sinks: Sinks,
  name: string,
): Promise<void> {
  const principal = { tenant: "default", agent: `agent ${output}`, user: output, via: output };
  await say("held", { name }, { taskId: output, stepId: output, idempotencyKey: output, principal });
  await say("held", { name: `${name} again` });
  for (const [i, approval] of (await runtime.approvals.list({ state: "pending" })).entries()) {
    sinks.add("approvals", approval);
    const decision = i % 2 === 0 ? "approved" : "denied";
    sinks.add("approvals", await runtime.approvals.decide(approval.id, { decision, by: boss, reason: output }));
    sinks.add("results", (await runtime.resume(approval.id)) ?? "");
  }
  await say("shaky", { name });
  for (const { key } of await runtime.calls.list({ state: "unknown" })) {
    sinks.add("ledger", await runtime.ledger.reconcile(key));
    sinks.add("ledger", await runtime.ledger.settle(key, "failed", output));
  }
  await runtime.note("operator.said", output, { by: output, data: { [output]: [output] } });
  sinks.add("explain", await runtime.explain({ tool: "held", arguments: { [output]: output } }));
}

/** The answers to people and programs. */
async function listen(runtime: Runtime, sinks: Sinks): Promise<void> {
  sinks.add("health", runtime.health());
  sinks.add("tools", runtime.offered());
  sinks.add("rows", await runtime.calls.list({ limit: 100_000 }), await runtime.approvals.list());
  sinks.add("audit", await runtime.audit.query({ limit: 100_000 }));
  for await (const line of runtime.audit.export()) sinks.add("audit export", line);
  await using http = await httpFixture(runtime, { log: (message, fields) => sinks.add("log", message, fields) });
  const paths = ["/v1/calls?limit=500", "/v1/approvals?state=all", "/v1/tools", "/v1/audit?limit=1000", "/v1/health"];
  const more = ["/v1/controls", "/v1/runs", "/v1/audit/export", "/v1/tools/leaky__echo", "/openapi.json", "/v1/skills"];
  for (const path of [...paths, ...more]) sinks.add("/v1", await (await http.ask(path, { as: "operator" })).text());
  const calls = (await runtime.calls.list({ limit: 300 })).map(
    ({ call }) => `/v1/calls/${encodeURIComponent(call.id)}`,
  );
  for (const path of calls) sinks.add("/v1", await (await http.ask(path, { as: "operator" })).text());
}

function sinkOf(path: string): string {
  if (path.startsWith("artifacts")) return "artifacts";
  if (path.startsWith("runs")) return "run archive";
  if (path.endsWith("-wal")) return "write-ahead log";
  return path.includes(".db") ? "database" : keySink;
}
