/** What `doctor` looks at, beyond what `start` refuses: port, store, names that match nothing, engines, servers, provider limits. */

import { counted, messageOf } from "@postern/core";
import type { ChainPage, HealthView, PolicyWarningView, PosternClient, ToolView } from "@postern/core/contract";
import type { Settings } from "../../config/settings.ts";
import { checkFree } from "../../server/http/port.ts";
import { agentsIfInstalled } from "../agents-package.ts";
import type { ServerFile } from "../start/server-file.ts";
import { unprotectedProblem } from "../start/unprotected.ts";

/** One line of `doctor`. */
export interface DoctorFinding {
  readonly level: "ok" | "warn" | "fail";
  readonly check: string;
  readonly message: string;
  readonly fix?: string;
}

function ok(check: string, message: string): DoctorFinding {
  return { level: "ok", check, message };
}

function warn(check: string, message: string, fix: string): DoctorFinding {
  return { level: "warn", check, message, fix };
}

export function fail(check: string, message: string, fix?: string): DoctorFinding {
  return { level: "fail", check, message, ...(fix !== undefined && { fix }) };
}

export async function* portChecks(
  { listen }: Settings,
  running: ServerFile | undefined,
): AsyncGenerator<DoctorFinding> {
  const check = "port";
  if (running !== undefined) yield ok(check, `Postern runs at ${running.url} (process ${running.pid}).`);
  else if (listen.port === 0) yield ok(check, "a free one is taken at start");
  else
    try {
      await checkFree(listen.host, listen.port);
      yield ok(check, `${listen.host}:${listen.port} is free`);
    } catch (error) {
      const fix = `Stop the program that listens there, or take another port: \`--port ${listen.port + 1}\`.`;
      yield fail(check, messageOf(error), fix);
    }
  const problem = unprotectedProblem(listen);
  if (problem !== undefined) yield { level: "warn", check: "listen", message: problem };
}

/** What a started Postern says of itself. */
export async function* runningChecks(
  operator: PosternClient,
  { servers }: Settings,
  printed: readonly string[],
): AsyncGenerator<DoctorFinding> {
  const health = await operator.health.show();
  yield health.status === "ok"
    ? ok("store", `opens; it offers ${counted(health.tools, "tool")}`)
    : fail("store", health.problem ?? "It is broken.", "Make room on the disk or repair it, then start again.");
  yield* nameFindings((await operator.policy.show()).warnings);
  yield engineFinding((await operator.chains.list({ limit: 1 })).engines);
  yield* serverFindings(health.servers, servers);
  yield* limitFindings((await operator.tools.list()).tools);
  for (const { tool, why } of health.rejected)
    if (!printed.some((message) => message.endsWith(why)))
      yield warn("tools", `\`${tool}\` is not offered: ${why}`, "Correct it, then start again.");
}

/** Names in the configuration that match nothing: what is written there does not apply. */
function* nameFindings(warnings: readonly PolicyWarningView[]): Generator<DoctorFinding> {
  const unmatched = warnings.filter(({ code }) => code === "matches_no_tool");
  if (unmatched.length === 0) yield ok("names", "each name in the configuration matches something");
  for (const { message, where } of unmatched)
    yield warn(
      "names",
      where === undefined ? message : `${where}: ${message}`,
      "Correct the name, take it out, or write `optional: true` beside it; `postern policy warnings` checks again.",
    );
}

/** An engine's package is optional: one that is missing is no problem while another runs. */
export function engineFinding(found: ChainPage["engines"]): DoctorFinding {
  const check = "engines";
  if (found.length === 0) return ok(check, "code mode is off");
  const ready = found.filter(({ problem }) => problem === undefined);
  const names = ready.map(({ name, language }) => (language === undefined ? name : `${name} (${language})`));
  const away = found.flatMap(({ name, problem }) => (problem === undefined ? [] : [`without ${name}: ${problem}`]));
  const message = [names.join(", "), ...away].filter((line) => line !== "").join("\n");
  const down = found.filter((engine) => engine.down === true).map(({ name }) => `\`${name}\``);
  if (ready.length === 0) return warn(check, message, "No script can run; install an engine, or see `chains.engines`.");
  if (down.length === 0) return lacksPython(found) ? warn(check, message, getPython) : ok(check, message);
  const them = down.length === 1 ? "it" : "them";
  return warn(
    check,
    message,
    `Repair ${down.join(", ")}, or leave ${them} out of \`chains.engines\`; until then scripts go to the others.`,
  );
}

/** Whether an engine for Python is configured and none can run. An engine that could not be loaded states no language. */
export function lacksPython(engines: ChainPage["engines"]): boolean {
  const python = engines.filter(
    ({ name, language }) => language === "python" || name === "cpython" || name === "pyodide",
  );
  return python.length > 0 && python.every(({ problem }) => problem !== undefined);
}

export const getPython =
  "Scripts in Python cannot run here. Get an engine: `apt install bubblewrap python3` on Linux, or `npm install pyodide deno`.";

function* serverFindings(found: HealthView["servers"], configured: Settings["servers"]): Generator<DoctorFinding> {
  for (const { name, status, problem = status, refused } of found) {
    const check = `server ${name}`;
    yield status === "connected" || status === "idle"
      ? ok(check, status === "idle" ? "idle: started when a call needs it" : status)
      : warn(check, problem, connectionFix(name, problem, configured[name])); // its tools are away; everything else works
    for (const { tool, why } of refused)
      yield warn(
        check,
        `\`${tool}\` is not offered. ${why}`,
        `Correct its definition in the server, or its settings in \`servers.${name}.tools\`.`,
      );
  }
}

function connectionFix(name: string, problem: string, { command, openapi }: Settings["servers"][string] = {}): string {
  if (problem.startsWith("There is no secret ")) return "Set it; the server is then connected within half a minute.";
  if (problem.includes(" needs the environment variable ")) return "Then start Postern again.";
  if (openapi !== undefined)
    return `Correct \`servers.${name}\` or its document; it is read again within half a minute.`;
  if (command === undefined)
    return `See that it runs and answers at \`servers.${name}.url\`, and that \`headers\` let Postern in.`;
  return `Run its command by hand; see \`servers.${name}\` in the configuration.`;
}

/**
 * Names each tool whose schema makes a model's provider refuse the whole request. The agents package knows the providers; if it
 * is not installed, there are no findings.
 */
async function* limitFindings(
  tools: readonly Pick<ToolView, "tool" | "action" | "kind" | "input_schema">[],
): AsyncGenerator<DoctorFinding> {
  const agents = await agentsIfInstalled();
  if (agents === undefined) return;
  for (const { tool, action, kind, input_schema: schema } of tools) {
    const limits = kind === "local" ? agents.providerLimits(schema) : [];
    if (limits.length === 0) continue;
    const name = action === "default" ? `\`${tool}\`` : `\`${tool}\` (\`${action}\`)`;
    yield warn(
      "limits",
      `Providers of models refuse a request with ${name} as it is declared: ${limits.join(", ")}.`,
      "Postern's adapters for agents rewrite it. A client that passes schemas on unchanged cannot use it: correct the tool's schema.",
    );
  }
}
