/**
 * Checks a script engine against what every engine must do, on a real host: `npm run proof -- driver NAME [FILE]`, where
 * FILE is a configuration file with the engine's settings under `chains.engine_settings`. Exits with 1 if a check fails,
 * with 2 if the engine cannot run. `--json` prints a report.
 */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { noOpaqueFields, toCamelCase } from "../../packages/core/src/case.ts";
import { SystemClock } from "../../packages/core/src/clock.ts";
import { messageOf } from "../../packages/core/src/fault.ts";
import { isJsonObject } from "../../packages/core/src/json.ts";
import type { SandboxDriver, SandboxLimits, ScriptStep } from "../../packages/core/src/sandbox/sandbox.ts";
import { type EngineSettings, knownEngines, placedEngine } from "../../packages/engines/src/known-engines.ts";
import { driversSchema } from "../../packages/postern/src/code-mode/drivers-config.ts";
import { driven, echoTools } from "../fakes/driven.ts";
import { type Check, checks } from "./checks.ts";

const limits: SandboxLimits = {
  ...{ cpuMs: 3_000, memoryBytes: 192 * 1024 * 1024, outputBytes: 100_000, wallMs: 15_000 },
};
/** The promised time: the limit and one second. */
const graceMs = 1_000;

interface Row {
  readonly says: string;
  readonly holds: boolean;
  readonly ms: number;
  readonly end: ScriptStep | { readonly refused: string };
}

const words = process.argv.slice(2).filter((word) => word !== "--json");
const [name = "", file] = words;
const isJson = process.argv.includes("--json");
const driver = await driverNamed(name, file);
const problem = await driver.unavailable();
if (problem !== undefined) leave(`\`${name}\` cannot run here: ${problem}`);
const { language } = driver.capabilities;
const rows: Row[] = [];
for (const check of checks) {
  const source = check[language];
  if (source === undefined) continue;
  const row = await rowOf(check, source);
  rows.push(row);
  if (!isJson) process.stdout.write(lineOf(row));
}
await driver[Symbol.asyncDispose]();
if (isJson) process.stdout.write(`${JSON.stringify({ engine: name, ...driver.capabilities, rows }, undefined, 2)}\n`);
const failures = rows.filter(({ holds }) => !holds).length;
process.stderr.write(`${name}: ${rows.length - failures} of ${rows.length} hold.\n`);
process.exit(failures === 0 ? 0 : 1);

async function rowOf({ says, holds, times = 1, wallMs = limits.wallMs }: Check, source: string): Promise<Row> {
  const program = { language, source, tools: echoTools, chainId: "chain_conformance" } as const;
  const checked = await driver.check?.(program);
  if (checked !== undefined) return { says, holds: true, ms: 0, end: { refused: Object.values(checked).join() } };
  let slowest = 0;
  const once = async (): Promise<ScriptStep> => {
    const watched: Pick<SandboxDriver, "start" | "capabilities"> = {
      capabilities: driver.capabilities,
      start: async (...given) => {
        const session = await driver.start(...given);
        const begun = performance.now();
        const next = session.next.bind(session);
        session.next = async () => {
          const step = await next();
          if (step.step !== "calls") slowest = Math.max(slowest, performance.now() - begun);
          return step;
        };
        return session;
      },
    };
    return await driven(watched, source, { ...limits, wallMs });
  };
  try {
    const ends = await Promise.all(Array.from({ length: times }, once));
    const bad = ends.find((end) => !holds(end));
    const inTime = slowest <= wallMs + graceMs;
    const [first] = ends;
    return {
      says,
      holds: bad === undefined && inTime,
      ms: Math.round(slowest),
      end: bad ?? first ?? { refused: "nothing" },
    };
  } catch (error) {
    return { says, holds: false, ms: Math.round(slowest), end: { refused: messageOf(error) } };
  }
}

function lineOf({ says, holds, ms, end }: Row): string {
  const shown = "refused" in end ? `not run: ${end.refused}` : end.step === "failed" ? end.why : end.step;
  const more = holds ? "" : `\n     ${JSON.stringify(end).slice(0, 500)}`;
  return `${holds ? "ok  " : "FAIL"} ${says} (${shown}, ${ms} ms)${more}\n`;
}

async function driverNamed(wanted: string, path: string | undefined): Promise<SandboxDriver & AsyncDisposable> {
  const settings = path === undefined ? {} : settingsIn(path);
  const load = knownEngines.get(wanted) ?? placedEngine(wanted, settings, noSecret);
  if (load === undefined)
    leave(
      `\`${wanted}\` is not an engine; there are ${[...knownEngines.keys(), "kubernetes", "firecracker"].join(", ")}.`,
    );
  try {
    return await load(new SystemClock());
  } catch (error) {
    leave(`\`${wanted}\` cannot be loaded: ${messageOf(error)}`);
  }
}

function settingsIn(path: string): EngineSettings {
  const config: unknown = parse(readFileSync(path, "utf8"));
  const chains = isJsonObject(config) ? config["chains"] : undefined;
  const drivers = isJsonObject(chains) ? chains["engine_settings"] : undefined;
  const read = driversSchema.safeParse(drivers);
  if (!read.success)
    leave(
      `\`${path}\`: ${read.error.issues.map(({ path: at, message }) => `chains.engine_settings.${at.join(".")}: ${message}`).join("; ")}`,
    );
  return toCamelCase(read.data, noOpaqueFields);
}

function noSecret(): Promise<string> {
  leave("No store of secrets is opened here; use `token_file` or a kubeconfig.");
}

function leave(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(2);
}
