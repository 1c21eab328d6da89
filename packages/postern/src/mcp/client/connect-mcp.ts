import { RuntimeFault, SystemClock } from "@postern/core";
import type { LocalTool } from "../../tools/kinds.ts";
import { LiveState, withState } from "../../tools/live-state.ts";
import type { ToolBlock } from "../../tools/registered.ts";
import { Registry } from "../../tools/registry.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { publicName } from "../../tools/upstream-names.ts";
import { ClientUpstream, type McpClient } from "./client-upstream.ts";
import { UpstreamConnection } from "./connection.ts";
import type { Definition, Pin, TrustedDefinitions } from "./definition.ts";
import type { ToolsPlace } from "./listed-tools.ts";
import { McpUpstream } from "./mcp-upstream.ts";
import { SpokenRevision } from "./revision.ts";
import { addressOf } from "./server-address.ts";
import type { ToolRegistrar } from "./server-collection.ts";
import type { ServerConfig } from "./server-config.ts";
import type { RefusedTool, Upstream, UpstreamEvents } from "./upstream.ts";

/**
 * An MCP server: a `command` or a `url` to connect to, as in the configuration of a runtime, or a connected `client`.
 *
 * @public
 */
export interface McpServer
  extends Omit<
    ServerConfig,
    | "enabled"
    | "pin"
    | "mode"
    | "start"
    | "idleStopMs"
    | "oauth"
    | "openapi"
    | "baseUrl"
    | "auth"
    | "operations"
    | "allowPrivate"
  > {
  /** The prefix of its tools: `name__tool`. Without it the tools have the server's own names. */
  readonly name?: string;
  /** Instead of an address: a client that is connected. Closing it stays up to the program; closing the box leaves it open. */
  readonly client?: McpClient;
}

/**
 * The tools of a connected server. It is a toolbox: give it to `createRuntime`, to a running runtime's `tools.register`, or to
 * an agent. Each tool is trusted as it is first listed. Tools that the server lists later are added, one that it no longer
 * lists is taken out, and one whose definition changed is blocked until it is as before.
 *
 * @public
 */
export class McpToolbox extends Toolbox implements AsyncDisposable {
  readonly #refused: () => readonly RefusedTool[];
  readonly #close: () => Promise<void>;

  constructor(refused: () => readonly RefusedTool[], close: () => Promise<void>) {
    super();
    this.#refused = refused;
    this.#close = close;
  }

  /** Tools that cannot be called, and why. */
  get refused(): readonly { readonly tool: string; readonly why: string }[] {
    return this.#refused();
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
 * `tools` say otherwise. A connection that is lost is made again, with growing delays; until then calls fail with the reason.
 *
 * @throws RuntimeFault `options_invalid` for an address that is invalid; Error with the reason when it cannot be reached
 *
 * @example
 * await using files = await connectMcp({ command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] });
 * const runtime = await createRuntime({ tools: files });
 *
 * @public
 */
export async function connectMcp(server: McpServer): Promise<McpToolbox> {
  const { name, client, ...config } = server;
  const shown = name ?? "server";
  const known = new Set<string>();
  const open = client === undefined ? await opener(shown, config, known) : openerOf(client, config);
  const box: McpToolbox = new McpToolbox(
    () => [...connection.status.refused, ...registrar.changed],
    async () => {
      await connection.close();
      await registrar.close();
    },
  );
  const registrar = new BoxRegistrar(box);
  const connection = new UpstreamConnection(shown, config, {
    ...{ registry: registrar, pins: new FirstSeen(), clock: new SystemClock(), random: Math.random, open, known },
    note: () => registrar.settle(), // after each list, and before the box is given away
    redact: (text) => [...known].reduce((left, secret) => left.replaceAll(secret, "[redacted]"), text),
    place: placeOf(name),
  });
  await connection.start();
  const { status, problem = "it is not connected" } = connection.status;
  if (status === "connected") return box;
  await box.close();
  throw new Error(problem);
}

type Open = (events: UpstreamEvents) => Promise<Upstream>;

async function opener(shown: string, config: ServerConfig, known: Set<string>): Promise<Open> {
  const learn = (values: readonly string[]): void => {
    for (const value of values) known.add(value);
  };
  const address = await addressOf(shown, config, { resolve: noSecrets, learn });
  if (address.kind === "openapi") throw new RuntimeFault("options_invalid", onlyMcp);
  const { revision, mayAsk, startTimeoutMs } = config;
  const shared = { clock: new SystemClock(), name: shown, spoken: new SpokenRevision() };
  return async (events) => new McpUpstream(address, { ...shared, revision, mayAsk, startTimeoutMs, events });
}

/** The settings of a connection that Postern makes. */
const ofConnections = ["command", "url", "args", "env", "cwd", "headers", "transport", "revision", "mayAsk"] as const;

function openerOf(client: McpClient, config: ServerConfig): Open {
  const odd = [...ofConnections, "startTimeoutMs" as const].find((key) => config[key] !== undefined);
  if (odd !== undefined)
    throw new RuntimeFault("options_invalid", `\`${odd}\` does not go with \`client\`, which is connected already.`);
  if (typeof client?.request !== "function" || typeof client.getServerCapabilities !== "function")
    throw new RuntimeFault("options_invalid", "`client` is no `Client` of the MCP SDK; give one that is connected.");
  return async (events) => new ClientUpstream(client, events);
}

const onlyMcp = "`connectMcp` connects to MCP servers; give an `openapi` document in `servers` of a runtime.";

function placeOf(name: string | undefined): ToolsPlace {
  return {
    nameOf: (local) => (name === undefined ? local : publicName(name, local)),
    settings: "tools",
    onChange: "It can be called again when it is as before; go on without it.",
  };
}

/** Fills a box. A registry of its own refuses here what a runtime would refuse later, with the whole box. */
class BoxRegistrar implements ToolRegistrar {
  readonly #box: McpToolbox;
  readonly #trial = new Registry({ clock: new SystemClock() });
  readonly #states = new Map<string, LiveState>();

  constructor(box: McpToolbox) {
    this.#box = box;
  }

  /** The tools whose definition changed. */
  get changed(): readonly RefusedTool[] {
    return [...this.#states].flatMap(([tool, { now }]) =>
      typeof now === "object" && now.why === "changed" ? [{ tool, why: now.problem }] : [],
    );
  }

  /** A box has tools only: no requests for resources and prompts. */
  register(tool: LocalTool, { unlisted }: { readonly unlisted?: boolean }): void {
    if (unlisted === true) return;
    this.#trial.register(tool);
    const state = new LiveState();
    try {
      this.#box.add(withState(tool, state));
    } catch (error) {
      this.#trial.unregister(tool.name);
      throw error; // a runtime that has the box refuses the tool
    }
    this.#states.set(tool.name, state);
  }

  unregister(name: string): void {
    this.#trial.unregister(name);
    this.#takeOut(name);
  }

  block(name: string, block: ToolBlock | undefined): void {
    this.#states.get(name)?.set(block ?? "callable");
  }

  setServer(): void {
    // Calls fail with the reason when the connection is lost.
  }

  setIdle(): void {
    // It is connected as long as its box is open.
  }

  unavailable({ tool }: { readonly tool: string }): string | undefined {
    const now = this.#states.get(tool)?.now ?? "gone";
    if (now === "gone") return `\`${tool}\` is not offered any more`;
    return typeof now === "object" ? now.problem : undefined;
  }

  schemaProblem(name: string): string | undefined {
    return this.#trial.schemaProblem(name);
  }

  /** Takes out tools whose schema turns out to be unusable. */
  async settle(): Promise<void> {
    await this.#trial.ready().catch(() => undefined); // `schemaProblem` has the reason
    for (const name of [...this.#states.keys()]) if (this.schemaProblem(name) !== undefined) this.#takeOut(name);
  }

  async close(): Promise<void> {
    await this.#trial[Symbol.asyncDispose]();
  }

  #takeOut(name: string): void {
    this.#box.remove(name);
    this.#states.get(name)?.set("gone");
    this.#states.delete(name);
  }
}

/** Trusts each tool as it is first listed, for the time of one connection. */
class FirstSeen implements TrustedDefinitions {
  readonly #pins = new Map<string, Pin>();
  readonly servers: TrustedDefinitions["servers"] = {
    knows: async () => false,
    keep: async () => undefined,
    lastList: async () => undefined,
    keepList: async () => undefined,
  };

  get(tool: string): Pin | undefined {
    return this.#pins.get(tool);
  }

  trusts(tool: string): boolean {
    return !this.#pins.has(tool);
  }

  list(): readonly Pin[] {
    return [];
  }

  follow(): void {
    // No person approves anything here.
  }

  async recordSeen({ server, tool }: Pick<Pin, "server" | "tool">, { body, digest }: Definition): Promise<void> {
    if (this.trusts(tool)) this.#pins.set(tool, { server, tool, pinned: { body, digest, at: 0 } });
  }
}

function noSecrets(): never {
  throw new RuntimeFault(
    "secret_missing",
    "`connectMcp` knows no secret store; give the value itself, or name the server in the configuration of a runtime.",
  );
}
