import { SystemClock } from "../../core/clock.ts";
import { RuntimeFault } from "../../core/fault.ts";
import { redactJson } from "../../secrets/redact-json.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { publicName } from "../../tools/upstream-names.ts";
import { adapt, type ReadUi } from "./adapter.ts";
import { localToolName } from "./listed-tools.ts";
import { SpokenRevision } from "./revision.ts";
import { SdkUpstream } from "./sdk-upstream.ts";
import { addressOf, type ServerConfig } from "./server-config.ts";
import { uiPageIn } from "./ui.ts";
import type { UpstreamTool } from "./upstream.ts";

/**
 * An MCP server to connect to: a `command` or a `url`, as in the configuration of a runtime.
 *
 * @public
 */
export interface McpServer extends Omit<ServerConfig, "enabled" | "pin"> {
  /** The prefix of its tools: `name__tool`. Without it the tools have the server's own names. */
  readonly name?: string;
}

/**
 * The tools of a connected server. It is a toolbox: give it to `createRuntime`, to a running runtime's `tools.register`, or to
 * an agent. Tools that the server lists later are added.
 *
 * @public
 */
export class McpToolbox extends Toolbox implements AsyncDisposable {
  /** Tools that are not offered, and why. */
  readonly refused: readonly { readonly tool: string; readonly why: string }[];
  readonly #close: () => Promise<void>;

  constructor(refused: McpToolbox["refused"], close: () => Promise<void>) {
    super();
    this.refused = refused;
    this.#close = close;
  }

  /** Ends the server's process, or its session. Calls under way end as failed, or `unknown` if they may have had an effect. */
  close(): Promise<void> {
    return this.#close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Connects to an MCP server and returns its tools. Each is `high` and not idempotent unless `risk` and
 * `tools` say otherwise. A connection that breaks is not made again, unlike those of a runtime's configuration.
 *
 * @throws RuntimeFault `server_invalid` for an address that is invalid; Error with the reason when it cannot be reached
 *
 * @example
 * await using files = await connectMcp({ command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] });
 * const runtime = await createRuntime({ tools: files });
 *
 * @public
 */
export async function connectMcp(server: McpServer): Promise<McpToolbox> {
  const { name, ...config } = server;
  const shown = name ?? "server";
  const clock = new SystemClock();
  let box: McpToolbox | undefined;
  const known = new Set<string>();
  const learn = (values: readonly string[]): void => {
    for (const value of values) known.add(value);
  };
  const upstream = new SdkUpstream(await addressOf(shown, config, { resolve: noSecrets, learn }), {
    ...{ clock, name: shown, spoken: new SpokenRevision() },
    ...{ revision: config.revision, startTimeoutMs: config.startTimeoutMs },
    events: {
      onClose: () => undefined, // later calls fail with the reason
      onToolsChanged: () => void relist().catch(() => undefined), // the list stays as it is
    },
  });
  const call: Parameters<typeof adapt>[2]["call"] = (tool, given, context) => upstream.callTool(tool, given, context);
  const masked = (text: string): string =>
    [...known].reduce((left, secret) => left.replaceAll(secret, "[redacted]"), text);
  const readUi: ReadUi = async (_tool, uri) =>
    uiPageIn(redactJson(await upstream.readResource(uri), { redact: masked }), uri);
  const fill = (into: McpToolbox, tools: readonly UpstreamTool[]): void => {
    for (const tool of tools) {
      const own = localToolName(tool.name, config);
      const full = name === undefined ? own : publicName(name, own);
      if (config.tools?.[tool.name]?.enabled !== false && !into.has(full))
        into.add(adapt(full, tool, { config, call, readUi, known }));
    }
  };
  const relist = async (): Promise<void> => {
    const { tools } = await upstream.listTools();
    if (box !== undefined) fill(box, tools);
  };
  try {
    await upstream.connect();
    const { tools, malformed } = await upstream.listTools();
    box = new McpToolbox(malformed, () => upstream.close());
    fill(box, tools);
    return box;
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

function noSecrets(): never {
  throw new RuntimeFault(
    "secret_missing",
    "`connectMcp` knows no secret store; give the value itself, or name the server in the configuration of a runtime.",
  );
}
