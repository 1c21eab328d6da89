import { messageOf, RuntimeFault } from "../../core/fault.ts";
import type { RiskGuess } from "../../policy/policy.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolBlock } from "../../tools/registered.ts";
import { publicName } from "../../tools/upstream-names.ts";
import { adapt, type CallUpstream, type ReadUi } from "./adapter.ts";
import { type Definition, definitionOf, toolOf } from "./definition.ts";
import { changedFields } from "./differences.ts";
import { changedBlock, newBlock, waitingBlock } from "./held.ts";
import { listedTools, nameHere } from "./listed-tools.ts";
import type { Pins } from "./pins.ts";
import type { ServerConfig } from "./server-config.ts";
import { termsOf } from "./terms.ts";
import type { RefusedTool, UpstreamList, UpstreamTool } from "./upstream.ts";

/** The part of the registry that is used here. */
export interface ToolRegistrar {
  register(
    tool: LocalTool,
    origin: {
      readonly server: string;
      readonly riskSource: "declared" | "operator" | "guess";
      readonly guess?: RiskGuess;
      readonly replace?: boolean;
    },
  ): void;
  unregister(name: string): void;
  /** Until it is taken back with `undefined`, or the tool is unregistered. */
  block(name: string, block: ToolBlock | undefined): void;
  setServer(name: string, status: "up" | "down", problem?: string): void;
  /** Why a registered tool's schema cannot be used, once that is known. */
  schemaProblem(name: string): string | undefined;
}

/** Public names. */
export interface ToolsDiff {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Their definition is another one, and trusted. */
  readonly changed: readonly string[];
  /** They cannot be called any more. */
  readonly blocked: readonly string[];
  /** They can be called again. */
  readonly freed: readonly string[];
  /** Tools that could not be registered, and why. */
  readonly refused: readonly RefusedTool[];
}

type Changes = { readonly [Name in keyof ToolsDiff]: ToolsDiff[Name][number][] };

export interface ServerToolsParts {
  readonly shelf: ToolRegistrar;
  readonly pins: Pins;
  readonly call: CallUpstream;
  readonly readUi: ReadUi;
}

/** One tool as its server lists it now. */
interface Listed {
  readonly name: string;
  readonly tool: UpstreamTool;
  readonly definition: Definition;
}

/** What of a listed tool is registered: its own definition, the pinned one, or none to speak of. */
interface ShownTool extends Pick<Listed, "name" | "tool"> {
  readonly digest: string;
}

/**
 * The registered tools of one server. They follow its list; what it does not list any more is gone (case 248).
 *
 * Invariant: what is registered and not blocked is defined as it is pinned. A tool whose definition changed is blocked
 * before anything is awaited, and what is shown of it is what was trusted, not what came in its place.
 */
export class ServerTools {
  readonly #server: string;
  readonly #config: ServerConfig;
  readonly #parts: ServerToolsParts;
  /** Public name to the digest of the definition it was registered with. */
  readonly #registered = new Map<string, string>();
  readonly #blocked = new Set<string>();
  /** What was refused before, and is told only once. */
  readonly #refused = new Map<string, string>();
  #listed: UpstreamList | undefined;
  /** It was connected before, by this process or an earlier one. */
  #isKnown = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(server: string, config: ServerConfig, parts: ServerToolsParts) {
    this.#server = server;
    this.#config = config;
    this.#parts = parts;
  }

  get size(): number {
    return this.#registered.size;
  }

  /** What its server lists now and cannot be offered. */
  get refused(): readonly RefusedTool[] {
    const unusable = [...this.#registered.keys()].flatMap((tool) => {
      const why = this.#parts.shelf.schemaProblem(tool);
      return why === undefined ? [] : [{ tool, why }];
    });
    return [...[...this.#refused].map(([tool, why]) => ({ tool, why })), ...unusable];
  }

  /** The definition of a tool in the server's last list; undefined when it is not there. */
  digestOf(tool: string): string | undefined {
    const listed = this.#listed?.tools.find(({ name }) => name === tool);
    return listed && definitionOf(listed).digest;
  }

  /** The server's own names of all it listed last, offered or not. Undefined: it has listed nothing yet. */
  get listed(): readonly string[] | undefined {
    return (
      this.#listed && [...this.#listed.tools.map(({ name }) => name), ...this.#listed.malformed.map(({ tool }) => tool)]
    );
  }

  /** One list after the other. */
  sync(list: UpstreamList): Promise<ToolsDiff> {
    this.#listed = list;
    const synced = this.#turn.then(() => this.#sync(list));
    this.#turn = synced.catch(() => undefined); // its caller has the rejection; the next list does not depend on it
    return synced;
  }

  /** The last list once more: an operator has approved something. Undefined: there was none yet. */
  again(): Promise<ToolsDiff> | undefined {
    return this.#listed && this.sync(this.#listed);
  }

  async #sync(list: UpstreamList): Promise<ToolsDiff> {
    const diff: Changes = { added: [], removed: [], changed: [], blocked: [], freed: [], refused: [] };
    const { wanted, refused, off } = listedTools(this.#server, this.#config, list);
    for (const name of this.#refused.keys()) if (!wanted.has(name) && !refused.has(name)) this.#refused.delete(name);
    for (const [name, why] of refused) if (!wanted.has(name)) this.#refuse(name, why, diff);
    for (const name of [...this.#registered.keys()]) if (!wanted.has(name)) this.#drop(name, diff);
    const listed = [...wanted].flatMap(([name, tool]) => this.#read(name, tool, diff) ?? []);
    for (const { name, definition } of listed) this.#holdChanged(name, definition);
    const isFirst = await this.#isFirst();
    await Promise.all(listed.map((one) => this.#put(one, isFirst, diff)));
    if (isFirst) await this.#seen(off);
    return diff;
  }

  /** At a server's first connection its tools are trusted as they are; what it adds later waits for an operator. */
  async #isFirst(): Promise<boolean> {
    this.#isKnown ||= await this.#parts.pins.servers.knows(this.#server, this.#config).catch(() => false);
    return !this.#isKnown;
  }

  /** What is switched off was there too: an operator who switches it on later finds it trusted. */
  async #seen(off: readonly UpstreamTool[]): Promise<void> {
    const { pins } = this.#parts;
    const strict = this.#config.pin === "strict";
    try {
      for (const tool of off) {
        const name = publicName(this.#server, nameHere(tool.name, this.#config));
        await pins.sight({ server: this.#server, tool: name }, definitionOf(tool), strict);
      }
      await pins.servers.keep(this.#server, this.#config);
      this.#isKnown = true;
    } catch {
      // Nothing can be recorded now, and the next connection counts as the first one.
    }
  }

  #read(name: string, tool: UpstreamTool, diff: Changes): Listed | undefined {
    try {
      return { name, tool, definition: definitionOf(tool) };
    } catch (error) {
      return this.#refuse(name, error, diff);
    }
  }

  /** Before anything is awaited: a call that comes meanwhile meets the block. */
  #holdChanged(name: string, definition: Definition): void {
    const pinned = this.#parts.pins.get(name)?.pinned;
    if (pinned === undefined || pinned.digest === definition.digest || !this.#registered.has(name)) return;
    this.#parts.shelf.block(name, changedBlock(name, changedFields(pinned.body, definition.body)));
  }

  async #put({ name, tool, definition }: Listed, isFirst: boolean, diff: Changes): Promise<void> {
    const { pins } = this.#parts;
    const strict = this.#config.pin === "strict" || !(isFirst || this.#isRenamed(tool, definition));
    try {
      if (pins.trusts(name, strict)) {
        this.#register({ name, tool, digest: definition.digest }, diff); // what cannot be registered is not pinned
        this.#parts.shelf.block(name, waitingBlock(name));
      }
      const problem = await this.#sight(name, definition, strict);
      if (problem === undefined) this.#show({ name, tool, definition }, diff);
      else if (this.#registered.has(name)) this.#parts.shelf.block(name, waitingBlock(name, problem));
      this.#refused.delete(name);
    } catch (error) {
      this.#refuse(name, error, diff);
    }
  }

  /** It is pinned as it is, under another name: the operator gave it this one. */
  #isRenamed({ name }: UpstreamTool, { digest }: Definition): boolean {
    const before = this.#parts.pins.get(publicName(this.#server, name))?.pinned;
    return nameHere(name, this.#config) !== name && before?.digest === digest;
  }

  /** Why it could not be recorded; then the tool cannot be called. */
  async #sight(name: string, definition: Definition, strict: boolean): Promise<string | undefined> {
    try {
      await this.#parts.pins.sight({ server: this.#server, tool: name }, definition, strict);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** As it is pinned: as it is offered, or as it was before it changed, blocked; or as nothing but a name. */
  #show({ name, tool, definition }: Listed, diff: Changes): void {
    const { pinned } = this.#parts.pins.get(name) ?? {};
    if (pinned?.digest === definition.digest) {
      this.#register({ name, tool, digest: definition.digest }, diff);
      this.#free(name, diff);
      return;
    }
    const known = pinned && toolOf(pinned);
    this.#register({ name, tool: known ?? unknownTool(tool), digest: known && pinned ? pinned.digest : "" }, diff);
    this.#block(name, pinned ? changedBlock(name, changedFields(pinned.body, definition.body)) : newBlock(name), diff);
  }

  #register({ name, tool, digest }: ShownTool, diff: Changes): void {
    const before = this.#registered.get(name);
    if (before === digest) return;
    const { riskSource, guess } = termsOf(tool, this.#config);
    const { shelf, call, readUi } = this.#parts;
    shelf.register(adapt(name, tool, { config: this.#config, call, readUi }), {
      server: this.#server,
      riskSource,
      ...(guess !== undefined && { guess }),
      ...(before !== undefined && { replace: true }),
    });
    this.#registered.set(name, digest);
    (before === undefined ? diff.added : diff.changed).push(name);
  }

  #block(name: string, block: ToolBlock, diff: Changes): void {
    this.#parts.shelf.block(name, block);
    if (!this.#blocked.has(name)) diff.blocked.push(name);
    this.#blocked.add(name);
  }

  #free(name: string, diff: Changes): void {
    this.#parts.shelf.block(name, undefined);
    if (this.#blocked.delete(name)) diff.freed.push(name);
  }

  #drop(name: string, diff: Changes): void {
    this.#parts.shelf.unregister(name);
    this.#registered.delete(name);
    this.#blocked.delete(name);
    diff.removed.push(name);
  }

  /** Not offered, nor its old definition: that is not what the server offers any more. */
  #refuse(name: string, error: unknown, diff: Changes): undefined {
    const isTaken = error instanceof RuntimeFault && /^tool_(?:name_confusable|duplicate)$/.test(error.code);
    const why = isTaken
      ? `${error.message} Give it another name: \`as\` of the tool in \`servers.${this.#server}.tools\`.`
      : messageOf(error);
    if (this.#registered.has(name)) this.#drop(name, diff);
    if (this.#refused.get(name) !== why) diff.refused.push({ tool: name, why });
    this.#refused.set(name, why);
  }
}

/** Nothing of what nobody approved is shown to a model: not even its description. */
function unknownTool({ name }: UpstreamTool): UpstreamTool {
  return { name, description: "Blocked until an operator approves its definition.", inputSchema: { type: "object" } };
}
