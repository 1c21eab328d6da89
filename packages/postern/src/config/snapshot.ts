import { toSnakeCase } from "@postern/core";
import { stringify } from "yaml";
import type { ServerConfig } from "../mcp/client/server-config.ts";
import { mask } from "../secrets/redactor.ts";
import { toolsIn } from "../tools/toolsets/toolset.ts";
import { configOpaque } from "./config-schema.ts";
import type { Settings } from "./settings.ts";

/**
 * The effective configuration as YAML, for the folders of runs: with defaults, in snake_case. Every value that may be a
 * secret is masked; a reference to a secret stays.
 */
export function configSnapshot(settings: Settings): string {
  const { file, listen, dataFolder, autonomy, agentScopes, policy, limits, approvals, results } = settings;
  const { servers, toolModules, tools, memory, skillFolders, runs, channels, logLevel, console } = settings;
  const { ttlMs, ...asking } = approvals;
  const written = {
    listen,
    data: dataFolder,
    store: settings.store && (settings.store.startsWith("secret://") ? settings.store : shownUrl(settings.store)),
    autonomy,
    agent: { scopes: agentScopes },
    policy,
    limits,
    approvals: { ...asking, ...(ttlMs !== undefined && { ttlSeconds: ttlMs / 1000 }) },
    audit: settings.audit,
    results,
    retention: settings.retention,
    servers: Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, shownServer(server)])),
    tools: { modules: toolModules, folders: settings.toolFolders, ...shownProvided(settings.provided) },
    memory,
    skills: { folders: skillFolders, linksAndGroups: settings.skillLinksAndGroups, agents: settings.skillAgents },
    runs,
    channels: channels && shownChannels(channels),
    accounts: shownAccounts(settings.accounts),
    files: settings.files && { enabled: true, ...settings.files },
    chains: settings.chains === undefined ? { enabled: false } : shownChains(settings.chains),
    console,
    log: { level: logLevel },
  };
  const data: unknown = JSON.parse(JSON.stringify(toSnakeCase(written, configOpaque))); // functions are left out
  const byCode = toolsIn(tools).map(({ name }) => name);
  const head = [
    `# The effective configuration, secrets masked. File: ${JSON.stringify(file ?? "none")}`,
    ...(byCode.length === 0 ? [] : [`# Tools given by code: ${JSON.stringify(byCode)}`]),
  ];
  return `${head.join("\n")}\n${stringify(data)}`;
}

function shownProvided({ applyPatch, textEditor, memory, shell }: Settings["provided"]): object {
  return {
    applyPatch: applyPatch && { enabled: true, ...applyPatch },
    textEditor: { enabled: textEditor },
    memory: { enabled: memory },
    shell: shell && { enabled: true, ...shell },
  };
}

function shownChannels({ webhooks = [], slack, consoleUrl }: NonNullable<Settings["channels"]>): object {
  return {
    slack, // it refers to its secrets
    webhooks: webhooks.map(({ url, secret, ...rest }) => ({
      ...rest,
      url: url.startsWith("secret://") ? url : URL.canParse(url) ? `${new URL(url).origin}/${mask}` : mask,
      ...(secret !== undefined && { secret: masked(secret) }),
    })),
    ...(typeof consoleUrl === "string" && { consoleUrl }),
  };
}

function shownAccounts({ sessions: { idleMs, absoluteMs }, openId }: Settings["accounts"]): object {
  return {
    session: { idleMinutes: idleMs / 60_000, absoluteHours: absoluteMs / 3_600_000 },
    openid: openId && { ...openId, clientSecret: openId.clientSecret && masked(openId.clientSecret) },
  };
}

/** The settings of an engine may hold a credential. */
function shownChains({ drivers: _, engineSettings, ...rest }: NonNullable<Settings["chains"]>): object {
  return { enabled: true, ...rest, ...(engineSettings !== undefined && { engineSettings: mask }) };
}

/** Any argument but a bare flag may be a password, so only flags are shown. */
function shownServer({ env, headers, auth, args, url, openapi, baseUrl, ...rest }: ServerConfig): object {
  return {
    ...rest,
    ...(url !== undefined && { url: shownUrl(url) }),
    ...(openapi !== undefined && { openapi: openapi.includes("://") ? shownUrl(openapi) : openapi }),
    ...(baseUrl !== undefined && { baseUrl: shownUrl(baseUrl) }),
    ...(auth !== undefined && { auth: maskedValues(auth) }),
    ...(args !== undefined && { args: args.map((word) => (/^--?[A-Za-z][\w-]*$/.test(word) ? word : masked(word))) }),
    ...(env !== undefined && { env: maskedValues(env) }),
    ...(headers !== undefined && { headers: maskedValues(headers) }),
  };
}

function masked(word: string): string {
  return word.startsWith("secret://") ? word : mask;
}

function maskedValues(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, masked(value)]));
}

/** Without user, password and query. */
function shownUrl(text: string): string {
  if (!URL.canParse(text)) return mask;
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname}`;
}
