import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve as resolvePath } from "node:path";
import { credentialsIn, secretsInVariable, secretsUnder } from "../../secrets/configured-values.ts";
import type { ResolveSecret } from "../../secrets/lend.ts";
import { referencesIn, withSecrets } from "../../secrets/secret-reference.ts";
import { checkServer, invalid, type OperationFilter, type ServerConfig } from "./server-config.ts";

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
