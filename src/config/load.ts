/**
 * From files, environment and flags to `Settings`: flags over environment over file over defaults.
 *
 * Invariant: nothing is started with a configuration that has a mistake; all mistakes are told at once, each with its
 * place, its key, the value and what to write instead. Code is run only when it was named.
 * Next: config-schema.ts (what may be written), source.ts (where it stands), settings.ts (what comes out).
 */
import { readFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { approvalSettingsFrom, routesProblem } from "../approvals/approvals-config.ts";
import { auditSettingsFrom } from "../audit/audit-config.ts";
import { fileOptionsFrom, fileSettingsFrom } from "../builtin/files/files-config.ts";
import { memoryProblem, memorySettingsFrom } from "../builtin/memory/memory-config.ts";
import { providedSettingsFrom } from "../builtin/provided/provided-config.ts";
import { chainOptionsFrom } from "../code-mode/chains-config.ts";
import { toCamelCase } from "../core/case.ts";
import { messageOf, RuntimeFault } from "../core/fault.ts";
import type { KeyPath } from "../core/schema-problems.ts";
import { accountSettingsFrom } from "../identity/accounts-config.ts";
import type { ServerConfig } from "../mcp/client/server-config.ts";
import { channelSettingsFrom } from "../observe/notify/channels-config.ts";
import { cedarLayer, readCedarSection } from "../policy/cedar/cedar.ts";
import { createPolicy, type PolicyOptions } from "../policy/decide.ts";
import { type Guardrail, openGuardrails } from "../policy/guardrails/guardrails.ts";
import { guardrailsFrom } from "../policy/guardrails/guardrails-config.ts";
import { policyOptionsFrom } from "../policy/options.ts";
import { secretSettingsFrom } from "../secrets/secrets-config.ts";
import { type CodeConfig, codeConfig } from "./code-config.ts";
import {
  type ConfigData,
  type ConfigFile,
  configKeys,
  configOpaque,
  configSchema,
  publicUrlPattern,
} from "./config-schema.ts";
import { type ConfigLocation, findFile } from "./find-file.ts";
import { type Environment, type Flags, type Overrides, overridesFrom } from "./overrides.ts";
import { ConfigProblems, type Locate, parseChecked } from "./problem.ts";
import type { Settings } from "./settings.ts";
import { readSource } from "./source.ts";

export interface LoadOptions {
  readonly flags: Flags;
  readonly environment: Environment;
  /** What relative paths of flags and environment are relative to. */
  readonly folder: string;
}

/** @throws ConfigProblems with every mistake */
export async function loadConfig({ flags, environment, folder }: LoadOptions): Promise<Settings> {
  const { overrides, problems } = overridesFrom(flags, environment);
  if (problems.length > 0) throw new ConfigProblems(problems);
  const found = findFile(overrides.config, folder);
  if (found === undefined) return settingsOf({ data: {}, policy: {} }, { file: undefined, folder }, overrides);
  if ("problem" in found) throw new ConfigProblems([found.problem]);
  const { given, locate } = await givenBy(found, folder);
  const isCode = found.language === "typescript";
  const data = parseChecked(configSchema, given.data, { keys: configKeys, locate, isCode });
  const config = toCamelCase(data, configOpaque) as ConfigData; // the schema is the file form of this type
  const policy = await policyOf(data, locate, dirname(found.file));
  checkMemory(config, locate);
  checkRoutes(config, locate);
  const guardrails = await guardrailsOf(config, given.guardrails ?? [], locate);
  const whereOf = (path: KeyPath): string | undefined => {
    const { source, line } = locate(path, "key");
    return line === undefined ? undefined : `${source}:${line}`;
  };
  const made = { ...given, data: config, policy, guardrails };
  return settingsOf(made, { file: found.file, folder, whereOf }, overrides);
}

/** Where the data folder and the port are said by flag or environment: enough to find a running Postern. */
export function loadOverrides({ flags, environment }: Pick<LoadOptions, "flags" | "environment">): Overrides {
  const { overrides, problems } = overridesFrom(flags, environment);
  if (problems.length > 0) throw new ConfigProblems(problems);
  return overrides;
}

async function givenBy(
  { file, language }: ConfigLocation,
  folder: string,
): Promise<{ readonly given: CodeConfig; readonly locate: Locate }> {
  const shown = relative(folder, file).startsWith("..") ? file : relative(folder, file) || basename(file);
  if (language === "typescript") {
    const given = codeConfig(await imported(file, shown), shown);
    return { given, locate: () => ({ source: shown }) };
  }
  const read = readSource(shown, await textOf(file, shown), language);
  if ("problems" in read) throw new ConfigProblems(read.problems);
  const { source } = read;
  return {
    given: { data: source.value },
    locate: (path, part) => ({ source: shown, ...source.place(path, part) }),
  };
}

async function textOf(file: string, shown: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw new ConfigProblems([
      {
        source: shown,
        key: "",
        message: `It cannot be read as UTF-8 text: ${messageOf(error)}.`,
        fix: "Save it as UTF-8, readable by you.",
      },
    ]);
  }
}

async function imported(file: string, shown: string): Promise<unknown> {
  try {
    const module: { readonly default?: unknown } = await import(pathToFileURL(file).href);
    return module.default;
  } catch (error) {
    throw new ConfigProblems([
      {
        source: shown,
        key: "",
        message: `It cannot be run: ${messageOf(error)}.`,
        fix: "Run it with `node` to see where it fails.",
      },
    ]);
  }
}

/** What only the policy itself can judge, a threshold that would let critical calls pass for example. */
export async function policyOf(
  { policy = {} }: Pick<ConfigFile, "policy">,
  locate: Locate,
  base: string,
): Promise<PolicyOptions> {
  const where = (path: KeyPath): string => {
    const { source, line } = locate(["policy", ...path], "value");
    return line === undefined ? source : `${source}:${line}`;
  };
  try {
    const options = policyOptionsFrom(policy, where);
    createPolicy(options);
    if (policy.cedar === undefined) return options;
    const cedar = await readCedarSection(policy.cedar, (file) => readFile(resolve(base, file), "utf8"));
    return { ...options, also: [await cedarLayer(cedar)] };
  } catch (error) {
    if (!(error instanceof RuntimeFault)) throw error;
    throw new ConfigProblems([
      {
        ...locate(["policy"], "key"),
        key: "policy",
        message: error.message,
        fix: "Correct the policy as said; see docs/reference/policy.md.",
      },
    ]);
  }
}

/** What only a guardrail itself can judge: `says` that does not go with `on`, a pattern that is none. */
async function guardrailsOf(
  { guardrails = [] }: ConfigData,
  live: readonly Guardrail[],
  locate: Locate,
): Promise<readonly Guardrail[]> {
  try {
    const made = [...guardrailsFrom(guardrails), ...live];
    await openGuardrails(made);
    return made;
  } catch (error) {
    if (!(error instanceof RuntimeFault)) throw error;
    throw new ConfigProblems([
      {
        ...locate(["guardrails"], "key"),
        key: "guardrails",
        message: error.message,
        fix: "Correct it as said; see docs/reference/risk.md.",
      },
    ]);
  }
}

/** A memory whose server is missing would only be found out by the first agent that recalls. */
function checkMemory({ memory = {}, servers = {} }: ConfigData, locate: Locate): void {
  const problem = memoryProblem(memory, Object.keys(servers));
  if (problem === undefined) return;
  const path = ["memory", ...problem.path];
  throw new ConfigProblems([
    { ...locate(path, "value"), key: path.join("."), message: problem.message, fix: problem.fix },
  ]);
}

/** A quorum that nobody can reach would only be found out by the first call that waits for it. */
function checkRoutes({ approvals = {} }: ConfigData, locate: Locate): void {
  const message = routesProblem(approvals);
  if (message === undefined) return;
  throw new ConfigProblems([
    {
      ...locate(["approvals", "routes"], "key"),
      key: "approvals.routes",
      message,
      fix: "Correct the route as said; see docs/reference/approvals.md.",
    },
  ]);
}

interface CheckedConfig extends CodeConfig {
  readonly data: ConfigData;
  readonly policy: PolicyOptions;
}

interface ConfigPlace {
  readonly file: string | undefined;
  /** What relative paths of flags and environment are relative to. */
  readonly folder: string;
  /** `postern.yaml:12`. */
  readonly whereOf?: (path: KeyPath) => string | undefined;
}

/** Where people's browsers go and where links in messages lead is one address: either says it for both. */
function publicUrlOf({ listen, channels }: Pick<ConfigData, "listen" | "channels">): string | undefined {
  const console = channels?.consoleUrl?.replace(/\/+$/, "");
  return listen?.publicUrl ?? (console !== undefined && publicUrlPattern.test(console) ? console : undefined);
}

function settingsOf(given: CheckedConfig, place: ConfigPlace, over: Overrides): Settings {
  const { file, folder, whereOf = () => undefined } = place;
  const { data, policy } = given;
  const base = file === undefined ? folder : dirname(file);
  const dataFolder = over.data === undefined ? resolve(base, data.data ?? ".postern") : resolve(folder, over.data);
  return {
    file,
    listen: listenOf(data, over),
    dataFolder,
    autonomy: over.autonomy ?? data.autonomy ?? "A2",
    agentScopes: data.agent?.scopes ?? [],
    policy,
    guardrails: given.guardrails ?? [],
    limits: data.limits ?? {},
    accounts: accountSettingsFrom(data.accounts ?? {}),
    approvals: approvalSettingsFrom(data.approvals ?? {}, (route) => whereOf(["approvals", "routes", route])),
    audit: auditSettingsFrom(data.audit ?? {}, base),
    results: data.results ?? {},
    servers: serversOf(data.servers ?? {}, base, whereOf),
    toolModules: (data.tools?.modules ?? []).map((module) => resolve(base, module)),
    toolFolders: (data.tools?.folders ?? []).map((one) => resolve(base, one)),
    skillFolders: (data.skills?.folders ?? []).map((one) => resolve(base, one)),
    skillAgents: data.skills?.agents ?? {},
    files: fileSettingsFrom(data.files ?? {}, base),
    provided: { ...providedSettingsFrom(data.tools ?? {}, base), files: fileOptionsFrom(data.files ?? {}, base) },
    memory: memorySettingsFrom(data.memory ?? {}, Object.keys(data.servers ?? {})),
    chains: chainOptionsFrom(data.chains ?? {}),
    tools: given.tools ?? [],
    hooks: given.hooks,
    secrets: given.secrets,
    secretSettings: secretSettingsFrom(data.secrets ?? {}, base, dataFolder),
    console: { editPolicy: data.console?.editPolicy ?? false },
    runs: {
      enabled: data.runs?.enabled ?? true,
      folder: data.runs?.folder === undefined ? join(dataFolder, "runs") : resolve(base, data.runs.folder),
    },
    channels: data.channels === undefined ? undefined : { ...channelSettingsFrom(data.channels), ...given.channels },
    logLevel: over.logLevel ?? data.log?.level ?? "warn",
  };
}

function listenOf(data: ConfigData, { host, port }: Overrides): Settings["listen"] {
  return {
    host: host ?? data.listen?.host ?? "127.0.0.1",
    port: port ?? data.listen?.port ?? 7420,
    publicUrl: publicUrlOf(data),
    maxConnectionsPerAddress: data.listen?.maxConnectionsPerAddress,
  };
}

/** A server starts in the configuration's folder, so that relative arguments mean what they say there. */
function serversOf(
  servers: Settings["servers"],
  base: string,
  whereOf: NonNullable<ConfigPlace["whereOf"]>,
): Settings["servers"] {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [
      name,
      {
        ...server,
        ...(server.command !== undefined && { cwd: resolve(base, server.cwd ?? ".") }),
        ...(server.tools !== undefined && { tools: placedTools(name, server.tools, whereOf) }),
      },
    ]),
  );
}

function placedTools(
  server: string,
  tools: NonNullable<ServerConfig["tools"]>,
  whereOf: NonNullable<ConfigPlace["whereOf"]>,
): NonNullable<ServerConfig["tools"]> {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      const where = whereOf(["servers", server, "tools", name]);
      return [name, where === undefined ? tool : { ...tool, where }];
    }),
  );
}
