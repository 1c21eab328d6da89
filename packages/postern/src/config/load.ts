/**
 * From files, environment and flags to `Settings`: flags win over environment, environment over file, file over defaults.
 *
 * Invariant: Postern does not start with a configuration that has a mistake. It reports all mistakes at once, each with
 * its place, its key, the value and what to write instead. It runs code only when the operator names it.
 * Next: config-schema.ts (what may be written), source.ts (where it is written), settings.ts (the result).
 */
import { readFile } from "node:fs/promises";
import { basename, dirname, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, RuntimeFault, toCamelCase } from "@postern/core";
import { routesProblem } from "../approvals/approvals-config.ts";
import { memoryProblem } from "../builtin/memory/memory-config.ts";
import type { KeyPath } from "../checks/schema-problems.ts";
import { cedarLayer, readCedarSection } from "../policy/cedar/cedar.ts";
import { createPolicy, type PolicyOptions } from "../policy/decide.ts";
import { type Guardrail, openGuardrails } from "../policy/guardrails/guardrails.ts";
import { guardrailsFrom } from "../policy/guardrails/guardrails-config.ts";
import { policyOptionsFrom } from "../policy/options.ts";
import { type CodeConfig, codeConfig } from "./code-config.ts";
import { type ConfigData, type ConfigFile, configKeys, configOpaque, configSchema } from "./config-schema.ts";
import { type ConfigLocation, findFile } from "./find-file.ts";
import { type Environment, type Flags, loadOverrides } from "./overrides.ts";
import { parseChecked } from "./parse-checked.ts";
import { ConfigProblems, type Locate } from "./problem.ts";
import { type Settings, settingsOf } from "./settings.ts";
import { readSource } from "./source.ts";

export interface LoadOptions {
  readonly flags: Flags;
  readonly environment: Environment;
  /** What relative paths of flags and environment are relative to. */
  readonly folder: string;
}

/**
 * @param text of the file, if it is not to be read
 * @throws ConfigProblems with every mistake
 */
export async function loadConfig(options: LoadOptions, text?: string): Promise<Settings> {
  const { flags, environment, folder } = options;
  const again = (other?: string): Promise<Settings> => loadConfig(options, other);
  const overrides = loadOverrides({ flags, environment });
  const found = findFile(overrides.config, folder);
  if (found === undefined) return settingsOf({ data: {}, policy: {} }, { file: undefined, folder, again }, overrides);
  const { given, locate } = await givenBy(found, folder, text);
  const isCode = found.language === "typescript";
  const data = parseChecked(configSchema, given.data, { keys: configKeys, locate, isCode });
  const config = toCamelCase(data, configOpaque);
  const policy = await policyOf(data, locate, textIn(dirname(found.file)));
  checkMemory(config, locate);
  checkRoutes(config, locate);
  const guardrails = await guardrailsOf(config, given.guardrails ?? [], locate);
  const whereOf = (path: KeyPath): string | undefined => {
    const { source, line } = locate(path, "key");
    return line === undefined ? undefined : `${source}:${line}`;
  };
  const checked = { ...given, data: config, policy, guardrails };
  return settingsOf(checked, { file: found.file, folder, whereOf, again }, overrides);
}

async function givenBy(
  { file, language }: ConfigLocation,
  folder: string,
  text?: string,
): Promise<{ readonly given: CodeConfig; readonly locate: Locate }> {
  const shown = relative(folder, file).startsWith("..") ? file : relative(folder, file) || basename(file);
  if (language === "typescript")
    return { given: codeConfig(await imported(file, shown), shown), locate: () => ({ source: shown }) };
  const source = readSource(shown, text ?? (await textOf(file, shown)), language);
  return {
    given: { data: source.value },
    locate: (path, part) => ({ source: shown, ...source.place(path, part) }),
  };
}

async function textOf(file: string, source: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file));
  } catch (error) {
    const message = `It cannot be read as UTF-8 text: ${messageOf(error)}.`;
    throw ConfigProblems.of({ source, message, fix: "Save it as UTF-8, readable by you." });
  }
}

async function imported(file: string, source: string): Promise<unknown> {
  try {
    const module: { readonly default?: unknown } = await import(pathToFileURL(file).href);
    return module.default;
  } catch (error) {
    const message = `It cannot be run: ${messageOf(error)}.`;
    throw ConfigProblems.of({ source, message, fix: "Run it with `node` to see where it fails." });
  }
}

/** Reads files that a configuration names, relative to its folder. */
export function textIn(base: string): (file: string) => Promise<string> {
  return (file) => readFile(resolve(base, file), "utf8");
}

/** What the schema cannot check, for example a threshold that lets critical calls pass. */
export async function policyOf(
  { policy = {} }: Pick<ConfigFile, "policy">,
  locate: Locate,
  textOf: (file: string) => Promise<string>,
): Promise<PolicyOptions> {
  const where = (path: KeyPath): string => {
    const { source, line } = locate(["policy", ...path], "value");
    return line === undefined ? source : `${source}:${line}`;
  };
  try {
    const options = policyOptionsFrom(policy, where);
    createPolicy(options);
    if (policy.cedar === undefined) return options;
    const cedar = await readCedarSection(policy.cedar, textOf);
    return { ...options, also: [await cedarLayer(cedar)] };
  } catch (error) {
    throw problemAt("policy", error, locate, "Correct this part of the policy; see docs/reference/policy.md.");
  }
}

/** What the schema cannot check: a `says` that does not fit `on`, an invalid pattern. */
async function guardrailsOf(
  { guardrails = [] }: ConfigData,
  live: readonly Guardrail[],
  locate: Locate,
): Promise<readonly Guardrail[]> {
  try {
    const all = [...guardrailsFrom(guardrails), ...live];
    await openGuardrails(all);
    return all;
  } catch (error) {
    throw problemAt("guardrails", error, locate, "Correct this guardrail; see docs/reference/risk.md.");
  }
}

function problemAt(key: string, error: unknown, locate: Locate, fix: string): unknown {
  if (!(error instanceof RuntimeFault)) return error;
  return ConfigProblems.of({ ...locate([key], "key"), key, message: error.message, fix });
}

/** Without this check, the first agent that recalls would find that the memory's server is missing. */
function checkMemory({ memory = {}, servers = {} }: ConfigData, locate: Locate): void {
  const problem = memoryProblem(memory, Object.keys(servers));
  if (problem === undefined) return;
  const { message, fix } = problem;
  const path = ["memory", ...problem.path];
  throw ConfigProblems.of({ ...locate(path, "value"), key: path.join("."), message, fix });
}

/** Without this check, the first call that waits for it would find that a quorum cannot be reached. */
function checkRoutes({ approvals = {} }: ConfigData, locate: Locate): void {
  const message = routesProblem(approvals);
  if (message === undefined) return;
  throw ConfigProblems.of({
    ...locate(["approvals", "routes"], "key"),
    key: "approvals.routes",
    message,
    fix: "Correct this route; see docs/reference/approvals.md.",
  });
}
