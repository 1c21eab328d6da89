import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve as resolvePath } from "node:path";
import { type Risk, RuntimeFault } from "@postern/core";
import type { OAuthConfig } from "../../connections/connections.ts";
import { credentialsIn, secretsInVariable, secretsUnder } from "../../secrets/configured-values.ts";
import type { ResolveSecret } from "../../secrets/lend.ts";
import { referencesIn, withSecrets } from "../../secrets/secret-reference.ts";
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
  readonly callTimeoutMs?: number;
  /** How many of its calls run at a time, and how many begin within any 60 seconds. Without it there is no limit. */
  readonly limits?: { readonly concurrent?: number; readonly perMinute?: number };
  /** How long the server may take to connect and list its tools. Default: 60 s. */
  readonly startTimeoutMs?: number;
  /** What it may ask the clients of its calls. Default: nothing. */
  readonly mayAsk?: readonly Askable[];
  /** The protocol revision that the server speaks. Without it the server is asked. */
  readonly revision?: Revision;
  /** By the server's own tool names. */
  readonly tools?: Readonly<Record<string, ServerToolConfig>>;
}

/** How to reach a server, with references resolved. Never logged. */
export type ServerAddress =
  | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | {
      readonly kind: "http";
      readonly url: URL;
      readonly transport?: "http" | "sse" | undefined;
      readonly headers: Readonly<Record<string, string>>;
      /** Adds the token of the person who calls. */
      readonly authorize?: ((send: typeof fetch, origin: string) => typeof fetch) | undefined;
    };

export interface OpenApiAddress {
  readonly kind: "openapi";
  /** A path, or an address. */
  readonly document: string | URL;
  readonly baseUrl: URL | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: Readonly<Record<string, string>>;
  readonly operations: OperationFilter | undefined;
  readonly allowPrivate: boolean;
}

function invalid(message: string): RuntimeFault {
  return new RuntimeFault("options_invalid", message);
}

/** @throws RuntimeFault `options_invalid` for a configuration that names no address, or has an unknown value */
export function checkServer(name: string, config: ServerConfig): void {
  const { pin, transport, revision, mode, mayAsk = [] } = config;
  const choices = {
    pin: [pin, ["first_seen", "strict"]],
    transport: [transport, ["http", "sse"]],
    mode: [mode, ["observe", "enforce"]],
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

/**
 * Checks that the program exists: `npx` or a shell would report the missing program, and the client only a silent server.
 *
 * @throws RuntimeFault `options_invalid`
 */
export function checkProgram(
  server: string,
  { command, env, cwd = process.cwd() }: Extract<ServerAddress, { readonly kind: "stdio" }>,
): void {
  if (process.platform === "win32") return; // Windows adds file extensions to the name
  const path = env["PATH"] ?? process.env["PATH"] ?? "";
  const isPath = command.includes("/");
  const places = isPath
    ? [resolvePath(cwd, command)]
    : path.split(delimiter).map((folder) => resolvePath(cwd, folder, command));
  if (places.some(isProgram)) return;
  const where = isPath ? "is no program" : "is not to be found on the path";
  throw invalid(`\`${command}\` ${where}: correct \`servers.${server}.command\`.`);
}

function isProgram(place: string): boolean {
  try {
    accessSync(place, constants.X_OK);
    return statSync(place).isFile();
  } catch {
    return false;
  }
}

/** The functions that resolve references in a configuration. */
export interface AddressOptions {
  readonly resolve: ResolveSecret;
  /** Called with values that must be masked: of variables, and values that the configuration states. Short ones are left out. */
  readonly learn: (values: readonly string[]) => void;
}

/** @throws RuntimeFault `options_invalid`, or what `resolve` throws when a secret is missing. */
export async function addressOf(
  name: string,
  config: ServerConfig,
  options: AddressOptions,
): Promise<ServerAddress | OpenApiAddress> {
  checkServer(name, config);
  const { learn } = options;
  const given = (key: string, text: string): string =>
    withEnvironment(text, { server: name, key, onVariable: (...variable) => learn(secretsInVariable(...variable)) });
  const values = (key: "env" | "headers"): Promise<Readonly<Record<string, string>>> =>
    revealedAll(config[key], options, (member, text) => given(`${key}.${member}`, text));
  if (config.command !== undefined) {
    const args = (config.args ?? []).map((word) => given("args", word));
    learn(args.flatMap((word, at) => secretsInArgument(word, args[at - 1])));
    return {
      kind: "stdio",
      command: withEnvironment(config.command, { server: name, key: "command" }),
      args,
      env: await values("env"),
      ...(config.cwd !== undefined && { cwd: withEnvironment(config.cwd, { server: name, key: "cwd" }) }),
    };
  }
  if (config.openapi !== undefined) return openApiAddressOf(name, config.openapi, config, options);
  const url = await serverUrl(name, config, options);
  return { kind: "http", url, headers: await values("headers"), transport: config.transport };
}

/** @throws RuntimeFault `options_invalid`, or what `resolve` throws when a secret is missing. */
export function serverUrl(name: string, { url }: ServerConfig, options: AddressOptions): Promise<URL> {
  return urlOf({ server: name, key: "url" }, url, options);
}

async function openApiAddressOf(
  server: string,
  text: string,
  config: ServerConfig,
  options: AddressOptions,
): Promise<OpenApiAddress> {
  const { baseUrl, operations, allowPrivate = false } = config;
  const values = (key: "auth" | "headers"): Promise<Readonly<Record<string, string>>> =>
    revealedAll(config[key], options, (member, value) =>
      withEnvironment(value, {
        server,
        key: `${key}.${member}`,
        onVariable: (...variable) => options.learn(secretsInVariable(...variable)),
      }),
    );
  const auth = await values("auth");
  for (const value of Object.values(auth)) options.learn([value, ...value.split(":").slice(1)]);
  const isAddress = /^[a-z][a-z\d+.-]*:\/\//i.test(text) && !/^\w:\\/.test(text);
  return {
    ...{ kind: "openapi", auth, operations, allowPrivate, headers: await values("headers") },
    document: isAddress
      ? await urlOf({ server, key: "openapi" }, text, options)
      : withEnvironment(text, { server, key: "openapi" }),
    baseUrl: baseUrl === undefined ? undefined : await urlOf({ server, key: "base_url" }, baseUrl, options),
  };
}

/** The host is no secret. A variable anywhere else in the address counts as one. */
async function urlOf(
  { server, key }: Pick<ReferencePlace, "server" | "key">,
  text = "",
  { resolve, learn }: AddressOptions,
): Promise<URL> {
  const variables: (readonly [name: string, value: string])[] = [];
  const onVariable = (...variable: readonly [string, string]): void => void variables.push(variable);
  const address = await withSecrets(withEnvironment(text, { server, key, onVariable }), resolve);
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    throw invalid(`Server \`${server}\`: \`${key}\` is not an http or https address.`);
  }
  const url = new URL(address);
  const beside = variables.filter(([, value]) => !url.host.includes(value.toLowerCase()));
  learn([...beside.flatMap((variable) => secretsInVariable(...variable)), ...credentialsIn(address)]);
  return url;
}

async function revealedAll(
  values: Readonly<Record<string, string>> = {},
  { resolve, learn }: AddressOptions,
  given: (name: string, text: string) => string,
): Promise<Readonly<Record<string, string>>> {
  const revealed = async (name: string, value: string): Promise<string> => {
    // The value of a secret may hold `${`, so references are not replaced in it.
    const whole = referencesIn(value).length === 0 ? given(name, value) : await withSecrets(value, resolve);
    learn(secretsUnder(name, whole));
    return whole;
  };
  return Object.fromEntries(
    await Promise.all(Object.entries(values).map(async ([name, value]) => [name, await revealed(name, value)])),
  );
}

/** The secret values in `--token=VALUE`, and in `VALUE` after `--token`. */
function secretsInArgument(word: string, before = ""): readonly string[] {
  const [, flag = before, value = word] = /^(-[^=]*)=(.*)$/s.exec(word) ?? [];
  if (flag.startsWith("-") && !value.startsWith("-")) return secretsUnder(flag, value);
  return credentialsIn(word);
}

const reference = /\$\{([^{}]*)\}/g;
const named = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** The place of a text in the configuration. */
interface ReferencePlace {
  readonly server: string;
  /** For example `env.TOKEN`. */
  readonly key: string;
  /** Called for each variable that is put in. */
  readonly onVariable?: (name: string, value: string) => void;
}

/**
 * Replaces `${NAME}` and `${NAME:-default}` by variables of Postern's own environment. A value that is put in is not searched
 * for references.
 *
 * @throws RuntimeFault `options_invalid` when the variable is not set, or the reference is malformed
 */
function withEnvironment(text: string, { server, key, onVariable }: ReferencePlace): string {
  return text.replace(reference, (whole, inner: string) => {
    const [, name, fallback] = named.exec(inner) ?? [];
    const place = `\`servers.${server}.${key}\``;
    if (name === undefined)
      throw invalid(
        `${place} has \`${whole.slice(0, 60)}\`, which names no environment variable: write \`\${NAME}\`, or \`\${NAME:-default}\`.`,
      );
    const value = Object.hasOwn(process.env, name) ? process.env[name] : undefined;
    if (value !== undefined && (value !== "" || fallback === undefined)) {
      onVariable?.(name, value);
      return value;
    }
    if (fallback !== undefined) return fallback;
    throw invalid(
      `${place} needs the environment variable \`${name}\`, which is not set where Postern runs: set it there, or write \`\${${name}:-default}\`.`,
    );
  });
}
