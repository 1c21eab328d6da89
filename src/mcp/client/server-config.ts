import type { Risk } from "../../core/call.ts";
import { RuntimeFault } from "../../core/fault.ts";
import { credentialsIn, secretsInVariable, secretsUnder } from "../../secrets/configured-values.ts";
import type { ResolveSecret } from "../../secrets/lend.ts";
import { referencesIn, withSecrets } from "../../secrets/secret-reference.ts";
import { withEnvironment } from "./environment-reference.ts";
import { checkRevision, type Revision } from "./negotiation.ts";

/** The operator's word on one tool of a server; nobody else's counts (SPEC 13.4, D22). */
export interface ServerToolConfig {
  readonly enabled?: boolean;
  /** Its name here, instead of the server's own: of two names that look alike, one can be called otherwise. */
  readonly as?: string;
  readonly risk?: Risk;
  readonly effects?: "read" | "write" | "destructive";
  /** Its results may carry strangers' words. `true` when nothing is said. */
  readonly openWorld?: boolean;
  /** A second run does no more than one run: an unknown outcome may simply be tried again. */
  readonly idempotent?: boolean;
  readonly scopes?: readonly string[];
  readonly timeoutMs?: number;
  /** The server may have no such tool: nobody is warned. */
  readonly optional?: boolean;
  /** Its place in a file. */
  readonly where?: string;
}

/** One MCP server: a `command` we start and talk to over its pipes, or a `url` that we send requests to. */
export interface ServerConfig {
  readonly command?: string;
  readonly args?: readonly string[];
  /** What the child sees beside PATH, HOME and the like; nothing else of our environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  /**
   * `http`: Streamable HTTP. `sse`: HTTP+SSE, the transport of revision 2024-11-05. Without it both are tried: first the
   * one that `url` speaks for (`sse` when its path ends in `/sse`).
   */
  readonly transport?: "http" | "sse";
  readonly headers?: Readonly<Record<string, string>>;
  readonly enabled?: boolean;
  /** `annotations`: believe the hints this server gives on its tools. Default `none`. */
  readonly trust?: "none" | "annotations";
  /**
   * When a tool's definition is trusted: as it is `first_seen` (default), or, `strict`, when an operator has approved it.
   * A changed one is always blocked until an operator approves it.
   */
  readonly pin?: "first_seen" | "strict";
  /** For all of its tools that have none of their own. */
  readonly risk?: Risk;
  /** For all of its tools that have nothing of their own: whether results may carry strangers' words. */
  readonly openWorld?: boolean;
  readonly callTimeoutMs?: number;
  /** How long it may take until it is connected and has listed its tools. Default 60 s. */
  readonly startTimeoutMs?: number;
  /** The revision of the protocol that it speaks. Without it the server is asked. */
  readonly revision?: Revision;
  /** By the server's own names for them. */
  readonly tools?: Readonly<Record<string, ServerToolConfig>>;
}

/** What is needed to reach it, references resolved. Never logged. */
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
    };

/** @throws RuntimeFault `server_invalid`: what is no address at all is a mistake, not a server that is down */
export function checkServer(name: string, config: ServerConfig): void {
  const { command, url, transport, pin = "first_seen" } = config;
  if (pin !== "first_seen" && pin !== "strict") {
    throw new RuntimeFault(
      "server_invalid",
      `Server \`${name}\`: \`pin\` is ${JSON.stringify(pin) ?? "no text"}; write \`first_seen\` or \`strict\`.`,
    );
  }
  if (command === undefined && url === undefined)
    throw new RuntimeFault(
      "server_invalid",
      `Server \`${name}\` has neither \`command\` nor \`url\`; give one of them.`,
    );
  if (transport !== undefined && transport !== "http" && transport !== "sse")
    throw new RuntimeFault(
      "server_invalid",
      `Server \`${name}\`: \`transport\` is ${JSON.stringify(transport) ?? "no text"}; write \`http\` or \`sse\`.`,
    );
  if (transport !== undefined && url === undefined)
    throw new RuntimeFault(
      "server_invalid",
      `Server \`${name}\`: \`transport\` goes with \`url\`, not with \`command\`.`,
    );
  checkRevision(name, config.revision);
  checkReferences(name, config);
}

/** A secret reaches a child by its environment alone. */
function checkReferences(
  name: string,
  { command = "", args = [], url = "", env = {}, headers = {} }: ServerConfig,
): void {
  if ([command, ...args].some((word) => referencesIn(word).length > 0))
    throw new RuntimeFault(
      "server_invalid",
      `Server \`${name}\`: a secret in \`args\` would be seen by everybody on this machine; give it in \`env\`, and let the program read it there.`,
    );
  for (const value of [url, ...Object.values(env), ...Object.values(headers)]) referencesIn(value);
}

/** What a server's address is made with. */
export interface AddressParts {
  readonly resolve: ResolveSecret;
  /** Makes values known that nobody may see: of variables, and those that are written out. What is too short is left out. */
  readonly learn: (values: readonly string[]) => void;
}

/** @throws RuntimeFault `server_invalid`, or what `resolve` throws when a secret is missing. */
export async function addressOf(name: string, config: ServerConfig, parts: AddressParts): Promise<ServerAddress> {
  checkServer(name, config);
  const { learn } = parts;
  const given = (key: string, text: string): string =>
    withEnvironment(text, { server: name, key, onVariable: (...variable) => learn(secretsInVariable(...variable)) });
  const values = (key: "env" | "headers"): Promise<Readonly<Record<string, string>>> =>
    revealedAll(config[key], parts, (member, text) => given(`${key}.${member}`, text));
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
  const url = await urlOf(name, config, parts);
  return { kind: "http", url, headers: await values("headers"), transport: config.transport };
}

/** Where it leads is no secret; a variable anywhere else in it is taken for one. */
async function urlOf(server: string, { url: text = "" }: ServerConfig, { resolve, learn }: AddressParts): Promise<URL> {
  const variables: (readonly [name: string, value: string])[] = [];
  const onVariable = (...variable: readonly [string, string]): void => void variables.push(variable);
  const address = await withSecrets(withEnvironment(text, { server, key: "url", onVariable }), resolve);
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    throw new RuntimeFault("server_invalid", `Server \`${server}\`: \`url\` is not an http or https address.`);
  }
  const url = new URL(address);
  const beside = variables.filter(([, value]) => !url.host.includes(value.toLowerCase()));
  learn([...beside.flatMap((variable) => secretsInVariable(...variable)), ...credentialsIn(address)]);
  return url;
}

async function revealedAll(
  values: Readonly<Record<string, string>> = {},
  { resolve, learn }: AddressParts,
  given: (name: string, text: string) => string,
): Promise<Readonly<Record<string, string>>> {
  const revealed = async (name: string, value: string): Promise<string> => {
    // A secret's value may hold anything, and is not looked through.
    const whole = referencesIn(value).length === 0 ? given(name, value) : await withSecrets(value, resolve);
    learn(secretsUnder(name, whole));
    return whole;
  };
  return Object.fromEntries(
    await Promise.all(Object.entries(values).map(async ([name, value]) => [name, await revealed(name, value)])),
  );
}

/** Of `--token=VALUE`, and of `VALUE` after `--token`. */
function secretsInArgument(word: string, before = ""): readonly string[] {
  const [, flag = before, value = word] = /^(-[^=]*)=(.*)$/s.exec(word) ?? [];
  if (flag.startsWith("-") && !value.startsWith("-")) return secretsUnder(flag, value);
  return credentialsIn(word);
}
