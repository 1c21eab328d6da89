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
import type { SandboxDriver } from "../../packages/core/src/sandbox/sandbox.ts";
import { type EngineCheckResult, engineChecks, tryEngine } from "../../packages/core/src/testing/engine-checks.ts";
import {
  type EngineSettings,
  knownEngines,
  placedEngine,
  placedEngines,
} from "../../packages/engines/src/known-engines.ts";
import { driversSchema } from "../../packages/postern/src/code-mode/drivers-config.ts";

const words = process.argv.slice(2).filter((word) => word !== "--json");
const [name = "", file] = words;
const isJson = process.argv.includes("--json");
const driver = await driverNamed(name, file);
const problem = await driver.unavailable();
if (problem !== undefined) leave(`\`${name}\` cannot run here: ${problem}`);
const rows: EngineCheckResult[] = [];
for (const check of engineChecks) {
  const row = await tryEngine(driver, check);
  if (row === undefined) continue;
  rows.push(row);
  if (!isJson) process.stdout.write(lineOf(row));
}
await driver[Symbol.asyncDispose]();
if (isJson) process.stdout.write(`${JSON.stringify({ engine: name, ...driver.capabilities, rows }, undefined, 2)}\n`);
const failures = rows.filter(({ holds }) => !holds).length;
process.stderr.write(`${name}: ${rows.length - failures} of ${rows.length} hold.\n`);
process.exit(failures === 0 ? 0 : 1);

function lineOf({ says, holds, ms, end }: EngineCheckResult): string {
  const shown = "refused" in end ? `not run: ${end.refused}` : end.step === "failed" ? end.why : end.step;
  const more = holds ? "" : `\n     ${JSON.stringify(end).slice(0, 500)}`;
  return `${holds ? "ok  " : "FAIL"} ${says} (${shown}, ${ms} ms)${more}\n`;
}

async function driverNamed(wanted: string, path: string | undefined): Promise<SandboxDriver & AsyncDisposable> {
  const settings = path === undefined ? {} : settingsIn(path);
  const load = knownEngines.get(wanted) ?? placedEngine(wanted, settings, noSecret);
  if (load === undefined)
    leave(`\`${wanted}\` is not an engine; there are ${[...knownEngines.keys(), ...placedEngines].join(", ")}.`);
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
