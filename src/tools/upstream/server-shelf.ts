import { messageOf } from "../../calls/fault.ts";
import { canonical, type Json } from "../../calls/json.ts";
import type { LocalTool } from "../kinds.ts";
import { adapt, type CallUpstream } from "./adapter.ts";
import { publicName } from "./names.ts";
import type { ServerConfig } from "./server-config.ts";
import { termsOf } from "./terms.ts";
import type { UpstreamTool } from "./upstream.ts";

/** The part of the registry that is used here. */
export interface ToolShelf {
  register(
    tool: LocalTool,
    origin: {
      readonly server: string;
      readonly riskSource: "declared" | "operator" | "default";
      readonly replace?: boolean;
    },
  ): void;
  unregister(name: string): void;
  setServer(name: string, status: "up" | "down", problem?: string): void;
}

export interface ToolsDiff {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  /** Tools that could not be registered, and why. */
  readonly refused: readonly { readonly tool: string; readonly why: string }[];
}

interface Changes {
  readonly added: string[];
  readonly removed: string[];
  readonly changed: string[];
  readonly refused: { readonly tool: string; readonly why: string }[];
}

/** The registered tools of one server. They follow its list; what it does not list any more is gone (case 248). */
export class ServerShelf {
  readonly #server: string;
  readonly #config: ServerConfig;
  readonly #shelf: ToolShelf;
  readonly #call: CallUpstream;
  /** Public name to the definition it was registered with. */
  readonly #registered = new Map<string, string>();
  /** What was refused before, and is told only once. */
  readonly #refused = new Map<string, string>();

  constructor(server: string, config: ServerConfig, shelf: ToolShelf, call: CallUpstream) {
    this.#server = server;
    this.#config = config;
    this.#shelf = shelf;
    this.#call = call;
  }

  get size(): number {
    return this.#registered.size;
  }

  sync(tools: readonly UpstreamTool[]): ToolsDiff {
    const wanted = new Map(
      tools.filter((tool) => this.#isOn(tool.name)).map((tool) => [publicName(this.#server, tool.name), tool]),
    );
    const diff: Changes = { added: [], changed: [], removed: [], refused: [] };
    for (const name of [...this.#registered.keys()]) if (!wanted.has(name)) this.#drop(name, diff);
    for (const [name, tool] of wanted) this.#put(name, tool, diff);
    return diff;
  }

  #drop(name: string, diff: Changes): void {
    this.#shelf.unregister(name);
    this.#registered.delete(name);
    diff.removed.push(name);
  }

  #put(name: string, tool: UpstreamTool, diff: Changes): void {
    try {
      const definition = canonical(tool as unknown as Json); // it was read from JSON
      const before = this.#registered.get(name);
      if (before === definition) return;
      const { riskSource } = termsOf(tool, this.#config);
      this.#shelf.register(adapt(name, tool, this.#config, this.#call), {
        server: this.#server,
        riskSource,
        ...(before !== undefined && { replace: true }),
      });
      this.#registered.set(name, definition);
      this.#refused.delete(name);
      (before === undefined ? diff.added : diff.changed).push(name);
    } catch (error) {
      const why = messageOf(error);
      if (this.#registered.has(name)) this.#drop(name, diff); // its old definition is not what the server offers any more
      if (this.#refused.get(name) !== why) diff.refused.push({ tool: name, why });
      this.#refused.set(name, why);
    }
  }

  #isOn(tool: string): boolean {
    const { tools } = this.#config;
    return tools === undefined || !Object.hasOwn(tools, tool) || tools[tool]?.enabled !== false;
  }
}
