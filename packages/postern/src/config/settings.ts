import { dirname, join, resolve } from "node:path";
import type { Autonomy } from "@postern/core";
import { approvalSettingsFrom } from "../approvals/approvals-config.ts";
import { auditSettingsFrom } from "../audit/audit-config.ts";
import { fileOptionsFrom, fileSettingsFrom } from "../builtin/files/files-config.ts";
import { memorySettingsFrom } from "../builtin/memory/memory-config.ts";
import type { KeyPath } from "../checks/schema-problems.ts";
import { chainOptionsFrom } from "../code-mode/chains-config.ts";
import { accountSettingsFrom } from "../identity/accounts-config.ts";
import { oauthSettingsFrom } from "../identity/oauth-config.ts";
import type { ServerConfig } from "../mcp/client/server-config.ts";
import { channelSettingsFrom } from "../observe/notify/channels-config.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import { secretSettingsFrom } from "../secrets/secrets-config.ts";
import { workerSettingsFrom } from "../workers/workers-config.ts";
import type { CodeConfig } from "./code-config.ts";
import type { ConfigData } from "./config-schema.ts";
import { publicUrlPattern } from "./listen-config.ts";
import type { Overrides } from "./overrides.ts";
import { providedSettingsFrom } from "./provided-config.ts";

export interface CheckedConfig extends CodeConfig {
  readonly data: ConfigData;
  readonly policy: PolicyOptions;
}

/** A checked configuration, as far as it decides about calls, with all of its sections. */
export interface ReadConfig {
  readonly policy: PolicyOptions;
  readonly guardrails: readonly Guardrail[];
  readonly autonomy: Autonomy;
  /** As it was written. */
  readonly sections: ConfigData;
}

export interface ConfigPlace {
  /** Undefined when no configuration was found and everything has its default. */
  readonly file: string | undefined;
  /** What relative paths of flags and environment are relative to. */
  readonly folder: string;
  /** `postern.yaml:12`. */
  readonly whereOf?: (path: KeyPath) => string | undefined;
  /** Reads the configuration as it is now, or with another text, with the same flags and environment. */
  readonly again: (text?: string) => Promise<ReadConfig>;
}

/** A complete configuration: defaults are filled in, paths are absolute, environment and flags are applied. */
export type Settings = Readonly<ReturnType<typeof settingsOf>>;

export function settingsOf(given: CheckedConfig, place: ConfigPlace, over: Overrides) {
  const { file, folder, whereOf = () => undefined, again } = place;
  const { data, policy } = given;
  const base = file === undefined ? folder : dirname(file);
  const dataFolder = over.data === undefined ? resolve(base, data.data ?? ".postern") : resolve(folder, over.data);
  return {
    file,
    again,
    /** As they were written, to see which of them change while Postern runs. */
    sections: data,
    listen: {
      host: over.host ?? data.listen?.host ?? "127.0.0.1",
      port: over.port ?? data.listen?.port ?? 7420,
      /** Names by which clients call it, beside its own addresses. */
      hosts: data.listen?.hosts ?? [],
      trustedProxies: data.listen?.trustedProxies ?? [],
      publicUrl: publicUrlOf(data),
      maxConnectionsPerAddress: data.listen?.maxConnectionsPerAddress,
    },
    dataFolder,
    /** Undefined: a file in the data folder. It may contain a password, or be a reference to a secret. */
    store: data.store,
    autonomy: over.autonomy ?? data.autonomy ?? "A2",
    agentScopes: data.agent?.scopes ?? [],
    policy,
    guardrails: given.guardrails ?? [],
    limits: data.limits ?? {},
    accounts: accountSettingsFrom(data.accounts ?? {}),
    /** Undefined: only tokens of Postern's own are taken. */
    oauth: data.oauth && oauthSettingsFrom(data.oauth),
    approvals: approvalSettingsFrom(data.approvals ?? {}, (route) => whereOf(["approvals", "routes", route])),
    audit: auditSettingsFrom(data.audit ?? {}, base),
    results: { ...data.results, ...(data.results?.folder && { folder: resolve(base, data.results.folder) }) },
    retention: data.retention ?? {},
    servers: serversOf(data.servers ?? {}, base, whereOf),
    /** Modules that export tools. They are loaded when tools are needed. */
    toolModules: (data.tools?.modules ?? []).map((module) => resolve(base, module)),
    /** Catalogues: `FOLDER/NAME/tool.ts`. */
    toolFolders: (data.tools?.folders ?? []).map((one) => resolve(base, one)),
    skillFolders: (data.skills?.folders ?? []).map((one) => resolve(base, one)),
    /** `skillAgents`: the skills that restrict an agent in each of its runs. */
    ...{ skillAgents: data.skills?.agents ?? {}, skillLinksAndGroups: data.skills?.linksAndGroups ?? false },
    /** Undefined when the file tools are off. */
    files: fileSettingsFrom(data.files ?? {}, base),
    /** Provider-defined tools that run here. `files` says what they may touch, even if the file tools are off. */
    provided: { ...providedSettingsFrom(data.tools ?? {}, base), files: fileOptionsFrom(data.files ?? {}, base) },
    /** Undefined when memory is off. */
    memory: memorySettingsFrom(data.memory ?? {}, Object.keys(data.servers ?? {})),
    /** Undefined when scripts are off. */
    chains: chainOptionsFrom(data.chains ?? {}),
    /** Tools, hooks and a secret store that a TypeScript configuration gives as objects. */
    tools: given.tools ?? [],
    hooks: given.hooks,
    secrets: given.secrets,
    /** Where secrets come from when the configuration gives no store. */
    secretSettings: secretSettingsFrom(data.secrets ?? {}, base, dataFolder),
    console: { editPolicy: data.console?.editPolicy ?? false },
    runs: {
      enabled: data.runs?.enabled ?? true,
      folder: data.runs?.folder === undefined ? join(dataFolder, "runs") : resolve(base, data.runs.folder),
    },
    /** Undefined when approvers are not notified. */
    channels: data.channels === undefined ? undefined : { ...channelSettingsFrom(data.channels), ...given.channels },
    /** Undefined when no tool runs on workers. */
    workers: data.workers && workerSettingsFrom(data.workers, base),
    logLevel: over.logLevel ?? data.log?.level ?? "warn",
  };
}

/** Browsers and links in messages use one address, so either key gives it for both. */
function publicUrlOf({ listen, channels }: Pick<ConfigData, "listen" | "channels">): string | undefined {
  const console = channels?.consoleUrl?.replace(/\/+$/, "");
  return listen?.publicUrl ?? (console !== undefined && publicUrlPattern.test(console) ? console : undefined);
}

/** A server starts in the configuration's folder, so its relative arguments are relative to that folder. So is a document. */
function serversOf(
  servers: Readonly<Record<string, ServerConfig>>,
  base: string,
  whereOf: NonNullable<ConfigPlace["whereOf"]>,
): Readonly<Record<string, ServerConfig>> {
  const placed = Object.entries(servers).map(([name, server]) => {
    const tools = Object.entries(server.tools ?? {}).map(([tool, settings]) => {
      const where = whereOf(["servers", name, "tools", tool]);
      return [tool, where === undefined ? settings : { ...settings, where }];
    });
    const cwd = server.command !== undefined && { cwd: resolve(base, server.cwd ?? ".") };
    const { openapi } = server;
    const document = openapi !== undefined &&
      !/^(?:[a-z][a-z\d+.-]*:\/\/|\$\{)/i.test(openapi) && { openapi: resolve(base, openapi) };
    return [
      name,
      { ...server, ...cwd, ...document, ...(server.tools !== undefined && { tools: Object.fromEntries(tools) }) },
    ];
  });
  return Object.fromEntries(placed);
}
