import type { Risk } from "../../calls/call.ts";
import { RuntimeFault } from "../../calls/fault.ts";

/** The operator's word on one tool of a server; nobody else's counts (SPEC 13.4, D22). */
export interface ServerToolConfig {
  readonly enabled?: boolean;
  readonly risk?: Risk;
  readonly effects?: "read" | "write" | "destructive";
  /** A second run does no more than one run: an unknown outcome may simply be tried again. */
  readonly idempotent?: boolean;
  readonly scopes?: readonly string[];
  readonly timeoutMs?: number;
}

/** One MCP server: a `command` we start and talk to over its pipes, or a `url` of Streamable HTTP. */
export interface ServerConfig {
  readonly command?: string;
  readonly args?: readonly string[];
  /** What the child sees beside PATH, HOME and the like; nothing else of our environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly enabled?: boolean;
  /** `annotations`: believe the hints this server gives on its tools. Default `none`. */
  readonly trust?: "none" | "annotations";
  /** For all of its tools that have none of their own. */
  readonly risk?: Risk;
  readonly callTimeoutMs?: number;
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
      readonly headers: Readonly<Record<string, string>>;
    };

export type ResolveSecret = (connector: string, key: string) => Promise<string>;

const reference = /^secret:\/\/([^/\s]+)\/([^\s]+)$/;

/** @throws RuntimeFault `server_invalid`: what is no address at all is a mistake, not a server that is down */
export function checkServer(name: string, { command, url }: ServerConfig): void {
  if (command !== undefined || url !== undefined) return;
  throw new RuntimeFault("server_invalid", `Server \`${name}\` has neither \`command\` nor \`url\`; give one of them.`);
}

/** @throws RuntimeFault `server_invalid`, or what `resolve` throws when a secret is missing. */
export async function addressOf(name: string, config: ServerConfig, resolve: ResolveSecret): Promise<ServerAddress> {
  if (config.command !== undefined) {
    const args = await Promise.all((config.args ?? []).map((value) => revealed(value, resolve)));
    const env = await revealedAll(config.env, resolve);
    return {
      kind: "stdio",
      command: config.command,
      args,
      env,
      ...(config.cwd !== undefined && { cwd: config.cwd }),
    };
  }
  checkServer(name, config);
  const url = await revealed(config.url ?? "", resolve);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new RuntimeFault("server_invalid", `Server \`${name}\`: \`url\` is not an http or https address.`);
  }
  return { kind: "http", url: new URL(url), headers: await revealedAll(config.headers, resolve) };
}

async function revealed(value: string, resolve: ResolveSecret): Promise<string> {
  const [, connector, key] = reference.exec(value) ?? [];
  return connector === undefined || key === undefined ? value : resolve(connector, key);
}

async function revealedAll(
  values: Readonly<Record<string, string>> = {},
  resolve: ResolveSecret,
): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(
    await Promise.all(Object.entries(values).map(async ([name, value]) => [name, await revealed(value, resolve)])),
  );
}
