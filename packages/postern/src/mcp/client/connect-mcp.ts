import { RuntimeFault, SystemClock } from "@postern/core";
import { redactJson } from "../../secrets/redact-json.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import { LiveState, withState } from "../../tools/live-state.ts";
import type { ToolBlock } from "../../tools/registered.ts";
import { Registry } from "../../tools/registry.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { publicName } from "../../tools/upstream-names.ts";
import type { ReadUi } from "./adapter.ts";
import { CallLimits } from "./call-limits.ts";
import type { Definition, Pin, TrustedDefinitions } from "./definition.ts";
import type { ToolsPlace } from "./listed-tools.ts";
import { McpUpstream } from "./mcp-upstream.ts";
import { SpokenRevision } from "./revision.ts";
import { addressOf } from "./server-address.ts";
import { ServerTools, type ToolRegistrar } from "./server-collection.ts";
import type { ServerConfig } from "./server-config.ts";
import { uiPageIn } from "./ui.ts";
import type { RefusedTool } from "./upstream.ts";

/**
 * An MCP server to connect to: a `command` or a `url`, as in the configuration of a runtime.
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
 * `tools` say otherwise. A connection that breaks is not made again, unlike those of a runtime's configuration.
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
  const { name, ...config } = server;
  const shown = name ?? "server";
  const known = new Set<string>();
  const learn = (values: readonly string[]): void => {
    for (const value of values) known.add(value);
  };
  let isStale = false;
  let relist = (): void => {
    isStale = true;
  };
  const address = await addressOf(shown, config, { resolve: noSecrets, learn });
  if (address.kind === "openapi") throw new RuntimeFault("options_invalid", onlyMcp);
  const upstream = new McpUpstream(address, {
    ...{ clock: new SystemClock(), name: shown, spoken: new SpokenRevision() },
    ...{ revision: config.revision, mayAsk: config.mayAsk, startTimeoutMs: config.startTimeoutMs },
    events: {
      onClose: () => undefined, // later calls fail with the reason
      onToolsChanged: () => relist(),
    },
  });
  const redact = (text: string): string =>
    [...known].reduce((left, secret) => left.replaceAll(secret, "[redacted]"), text);
  const readUi: ReadUi = async (_tool, uri) => uiPageIn(redactJson(await upstream.readResource(uri), { redact }), uri);
  const box: McpToolbox = new McpToolbox(
    () => [...tools.refused, ...registrar.changed],
    async () => {
      await upstream.close();
      await registrar.close();
    },
  );
  const registrar = new BoxRegistrar(box);
  const limits = new CallLimits(shown, config.limits, new SystemClock());
  const tools = new ServerTools(shown, config, {
    ...{ registry: registrar, pins: new FirstSeen(), readUi, known },
    call: (tool, given, context) => limits.run(tool, context, () => upstream.callTool(tool, given, context)),
    place: placeOf(name),
  });
  const list = async (): Promise<void> => {
    await tools.sync(redactJson(await upstream.listTools(), { redact }));
    await registrar.settle();
  };
  try {
    await upstream.connect();
    await list();
    relist = oneAtATime(list);
    if (isStale) relist();
    return box;
  } catch (error) {
    await box.close();
    throw error;
  }
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

  register(tool: LocalTool): void {
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
  readonly servers: TrustedDefinitions["servers"] = { knows: async () => false, keep: async () => undefined };

  get(tool: string): Pin | undefined {
    return this.#pins.get(tool);
  }

  trusts(tool: string): boolean {
    return !this.#pins.has(tool);
  }

  async recordSeen({ server, tool }: Pick<Pin, "server" | "tool">, { body, digest }: Definition): Promise<void> {
    if (this.trusts(tool)) this.#pins.set(tool, { server, tool, pinned: { body, digest, at: 0 } });
  }
}

/** One list at a time: a change during a list leads to one more. A list that fails leaves the tools as they are. */
function oneAtATime(list: () => Promise<void>): () => void {
  let isRunning = false;
  let isWanted = false;
  const run = async (): Promise<void> => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted) {
      isWanted = false;
      await list().catch(() => undefined);
    }
    isRunning = false;
  };
  return () => void run();
}

function noSecrets(): never {
  throw new RuntimeFault(
    "secret_missing",
    "`connectMcp` knows no secret store; give the value itself, or name the server in the configuration of a runtime.",
  );
}
