import { type Risk, RuntimeFault } from "@postern/core";
import type { OAuthConfig } from "../../connections/connections.ts";
import type { ResolveSecret } from "../../secrets/lend.ts";
import { referencesIn } from "../../secrets/secret-reference.ts";
import { type Askable, askable } from "./questions.ts";
import { type Revision, revisions } from "./revision.ts";

/** What the operator states about one tool of a server. */
export interface ServerToolConfig {
  readonly enabled?: boolean;
  /** Its name here, instead of the server's own: for one of two names that look alike. */
  readonly as?: string;
  /** What models and people read, instead of the server's own description. The pin stays on the server's own. */
  readonly description?: string;
  readonly risk?: Risk;
  readonly effects?: "read" | "write" | "destructive";
  /** Its results may hold untrusted text. Default: true. */
  readonly openWorld?: boolean;
  /** A second run does no more than one run, so a call with an unknown outcome may be repeated. */
  readonly idempotent?: boolean;
  readonly scopes?: readonly string[];
  readonly timeoutMs?: number;
  /** The server's own name of a read-only tool that is called with the same arguments to show what a call would do. */
  readonly preview?: string;
  /** Instead of the server's `defer`. */
  readonly defer?: boolean;
  /** No warning is written when the server has no such tool. */
  readonly optional?: boolean;
  /** The place of this entry in a file, for messages. */
  readonly where?: string;
}

/** Operations by `operationId` or `METHOD /path`, with `*` for any characters. */
export interface OperationFilter {
  /** Only these are offered. Default: all. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/**
 * One server: a `command` that Postern starts and talks to over its pipes, a `url` that it sends requests to, or the
 * `openapi` document of an HTTP API.
 */
export interface ServerConfig {
  readonly command?: string;
  readonly args?: readonly string[];
  /** The environment of the child process, beside PATH, HOME and similar variables. Nothing else of Postern's own is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  /**
   * `http`: Streamable HTTP. `sse`: HTTP+SSE, the transport of revision 2024-11-05. Without it both are tried, `sse` first
   * if the path of `url` ends in `/sse`.
   */
  readonly transport?: "http" | "sse";
  readonly headers?: Readonly<Record<string, string>>;
  /** With `url`: the server asks for OAuth. */
  readonly oauth?: OAuthConfig;
  /** A file or an address of an OpenAPI document (3.1, 3.0) or Swagger 2.0. Each of its operations is a tool. */
  readonly openapi?: string;
  /** With `openapi`: where requests go. Default: the first server of the document. */
  readonly baseUrl?: string;
  /** With `openapi`: values by the names of the document's security schemes; for `basic`, `user:password`. */
  readonly auth?: Readonly<Record<string, string>>;
  readonly operations?: OperationFilter;
  /** With `openapi`: allows machines of this network, also over http. With `oauth`: the authorization server may be one. */
  readonly allowPrivate?: boolean;
  readonly enabled?: boolean;
  /** `annotations`: trust the hints that this server gives about its tools. Default: `none`. */
  readonly trust?: "none" | "annotations";
  /**
   * When a tool's definition is trusted: as it is `first_seen` (default), or, with `strict`, when an operator approved it.
   * A changed definition is always blocked until an operator approves it.
   */
  readonly pin?: "first_seen" | "strict";
  /** `observe`: calls of its tools are decided and recorded, and only what always holds is enforced. Default: `enforce`. */
  readonly mode?: "observe" | "enforce";
  /** The risk of its tools for which nothing else is stated. */
  readonly risk?: Risk;
  /** Whether results may hold untrusted text, for its tools for which nothing else is stated. */
  readonly openWorld?: boolean;
  /** Models find its tools by search, unless a tool states otherwise: `/mcp` does not list them before. */
  readonly defer?: boolean;
  readonly callTimeoutMs?: number;
  /** How many of its calls run at a time, and how many begin within any 60 seconds. Without it there is no limit. */
  readonly limits?: { readonly concurrent?: number; readonly perMinute?: number };
  /** How long the server may take to connect and list its tools. Default: 60 s. */
  readonly startTimeoutMs?: number;
  /** `on_demand`: it is started by the first call that needs it, once its tools are known. Default: `at_start`. */
  readonly start?: "at_start" | "on_demand";
  /** With `start: on_demand`: it is stopped when no call needed it for this long. Default: 300000 (5 minutes). */
  readonly idleStopMs?: number;
  /** What it may ask the clients of its calls. Default: nothing. */
  readonly mayAsk?: readonly Askable[];
  /** The protocol revision that the server speaks. Without it the server is asked. */
  readonly revision?: Revision;
  /** By the server's own tool names. */
  readonly tools?: Readonly<Record<string, ServerToolConfig>>;
}

export function invalid(message: string): RuntimeFault {
  return new RuntimeFault("options_invalid", message);
}

/** A call that starts a server has this long to reach it. */
export const leastIdleStopMs = 1_000;

/** @throws RuntimeFault `options_invalid` for a configuration that names no address, or has an unknown value */
export function checkServer(name: string, config: ServerConfig): void {
  const { pin, transport, revision, mode, start, idleStopMs, mayAsk = [] } = config;
  const choices = {
    pin: [pin, ["first_seen", "strict"]],
    transport: [transport, ["http", "sse"]],
    mode: [mode, ["observe", "enforce"]],
    start: [start, ["at_start", "on_demand"]],
  } as const;
  for (const [key, [value, allowed]] of Object.entries({ ...choices, revision: [revision, revisions] as const }))
    if (value !== undefined && !allowed.some((one) => one === value))
      throw invalid(
        `Server \`${name}\`: \`${key}\` is ${JSON.stringify(value) ?? "no text"}; write ${allowed.map((one) => `\`${one}\``).join(" or ")}.`,
      );
  const unknown = mayAsk.find((kind) => !askable.includes(kind));
  if (unknown !== undefined)
    throw invalid(
      `Server \`${name}\`: \`mayAsk\` has ${JSON.stringify(unknown) ?? "no text"}; write ${askable.map((one) => `\`${one}\``).join(", ")}, or leave it out.`,
    );
  for (const [key, limit] of Object.entries(config.limits ?? {}))
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1))
      throw invalid(`Server \`${name}\`: \`limits.${key}\` is ${String(limit)}; give a whole number from 1.`);
  if (idleStopMs !== undefined && !(Number.isSafeInteger(idleStopMs) && idleStopMs >= leastIdleStopMs))
    throw invalid(
      `Server \`${name}\`: \`idleStopMs\` is ${String(idleStopMs)}; give whole milliseconds from ${leastIdleStopMs}.`,
    );
  if (idleStopMs !== undefined && start !== "on_demand")
    throw invalid(
      `Server \`${name}\`: \`idleStopMs\` goes with \`start: on_demand\`; a server that is started at start is not stopped.`,
    );
  const kinds = serverKinds.filter((kind) => config[kind] !== undefined);
  const [kind, other] = kinds;
  if (kind === undefined)
    throw invalid(`Server \`${name}\` has neither \`command\` nor \`url\` nor \`openapi\`; give one of them.`);
  if (other !== undefined) throw invalid(`Server \`${name}\` has both \`${kind}\` and \`${other}\`; give one of them.`);
  for (const [key, ...wanted] of keysOfKinds)
    if (config[key] !== undefined && !wanted.includes(kind))
      throw invalid(
        `Server \`${name}\`: \`${key}\` goes with ${wanted.map((one) => `\`${one}\``).join(" or ")}, not with \`${kind}\`.`,
      );
  if (kind === "url" && config.allowPrivate !== undefined && config.oauth === undefined)
    throw invalid(`Server \`${name}\`: \`allowPrivate\` goes with \`openapi\` or \`oauth\`.`);
  checkReferences(name, config);
  checkOAuth(name, config);
}

function checkOAuth(name: string, config: ServerConfig): void {
  const { clientId, clientSecret, grant, per } = config.oauth ?? {};
  const isForAll = per === "server" || grant === "client_credentials";
  const place = `Server \`${name}\`: \`oauth.`;
  if (clientSecret !== undefined && (clientId === undefined || referencesIn(clientSecret).length === 0))
    throw invalid(`${place}client_secret\` is a reference such as \`secret://${name}/client\`, beside \`client_id\`.`);
  if (grant === "client_credentials" && (clientSecret === undefined || per === "user"))
    throw invalid(
      `${place}grant: client_credentials\` signs in without a person: give \`client_id\` and \`client_secret\`, and no \`per: user\`.`,
    );
  if (isForAll && personalKeysIn(config).length > 0)
    throw invalid(`${place}\` is for all people, and \`secret://person/…\` is a key of each: remove one of them.`);
}

/** The connector of `secret://person/KEY`: a key that each person enters. */
const ofPerson = "person";

/** The names of the keys that each person enters. */
export function personalKeysIn({ headers = {}, auth = {} }: ServerConfig): readonly string[] {
  const all = [headers, auth].flatMap((one) => Object.values(one)).flatMap(referencesIn);
  return [...new Set(all.flatMap(({ connector, key }) => (connector === ofPerson ? [key] : [])))];
}

/** The configuration as a connection for nobody uses it: without what each person enters. */
export function withoutPersonalKeys(config: ServerConfig): ServerConfig {
  const shared = (given: ServerConfig["headers"] = {}): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(given).filter(([, value]) => !isPersonal(value)));
  return {
    ...config,
    ...(config.headers !== undefined && { headers: shared(config.headers) }),
    ...(config.auth !== undefined && { auth: shared(config.auth) }),
  };
}

function isPersonal(value: string): boolean {
  return referencesIn(value).some(({ connector }) => connector === ofPerson);
}

/** Resolves `secret://person/KEY` to the key of one person, and other references as ever. */
export function withPersonalKeys(resolve: ResolveSecret, keyOf: (key: string) => string): ResolveSecret {
  return async (connector, key) => (connector === ofPerson ? keyOf(key) : resolve(connector, key));
}

/** A server has one of these. */
export const serverKinds = ["command", "url", "openapi"] as const;
type ServerKind = (typeof serverKinds)[number];

/** Keys that go with some kinds of servers only. */
const keysOfKinds: readonly (readonly [keyof ServerConfig, ...(readonly ServerKind[])])[] = [
  ["transport", "url"],
  ["revision", "command", "url"],
  ["mayAsk", "command", "url"],
  ["start", "command", "url"],
  ["baseUrl", "openapi"],
  ["auth", "openapi"],
  ["operations", "openapi"],
  ["allowPrivate", "openapi", "url"],
  ["oauth", "url"],
];

/** A secret reaches a child process only through its environment. */
function checkReferences(
  name: string,
  { command = "", args = [], url = "", openapi = "", baseUrl = "", env = {}, headers = {}, auth = {} }: ServerConfig,
): void {
  if ([command, ...args].some((word) => referencesIn(word).length > 0))
    throw invalid(
      `Server \`${name}\`: a secret in \`args\` can be read by every user of this machine; give it in \`env\`, and let the program read it there.`,
    );
  for (const value of [headers, auth].flatMap((one) => Object.values(one))) referencesIn(value);
  if ([url, openapi, baseUrl, ...Object.values(env)].some(isPersonal))
    throw invalid(`Server \`${name}\`: \`secret://person/…\` goes into \`headers\` and \`auth\` only.`);
}
