import { messageOf, RuntimeFault } from "@postern/core";
import type { RiskGuess } from "../../policy/policy.ts";
import { redactJson } from "../../secrets/redact-json.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolBlock } from "../../tools/registered.ts";
import type { MissingFor } from "../../tools/sign-in-needed.ts";
import { type AdaptOptions, adapt, type CallUpstream, type ReadUi } from "./adapter.ts";
import {
  changedBlock,
  type Definition,
  definitionOf,
  newBlock,
  type Pin,
  type StoredDefinition,
  type TrustedDefinitions,
  toolOf,
  waitingBlock,
} from "./definition.ts";
import { changedFields } from "./differences.ts";
import { configuredPlace, listedTools, localToolName, type ToolsPlace } from "./listed-tools.ts";
import { checkPreviewTools, previewCallOf, previewIn, previewProblem, previewToolOf } from "./preview-tool.ts";
import type { ServerConfig } from "./server-config.ts";
import { termsOf } from "./terms.ts";
import { ownTurn } from "./turns.ts";
import type { RefusedTool, UpstreamList, UpstreamTool } from "./upstream.ts";

/** The part of the registry that is used here. */
export interface ToolRegistrar {
  register(
    tool: LocalTool,
    origin: {
      readonly server: string;
      readonly riskSource: "declared" | "operator" | "guess";
      readonly guess?: RiskGuess;
      readonly observe?: boolean;
      readonly replace?: boolean;
      readonly unlisted?: boolean;
    },
  ): void;
  unregister(name: string): void;
  /** Blocks a tool until `undefined` is given, or the tool is unregistered. */
  block(name: string, block: ToolBlock | undefined): void;
  /** @param attempt the first attempt to connect it; calls of its tools wait for it */
  setServer(name: string, status: "up" | "down", problem?: string, attempt?: Promise<void>): void;
  /** Its tools can be called, and a call has to start it. `start` does not reject. */
  setIdle(name: string, start: () => Promise<void>): void;
  /** Why a tool cannot be called now. */
  unavailable(tool: { readonly tool: string; readonly facts: { readonly server?: string } }): string | undefined;
  /** Why a registered tool's schema cannot be used, as soon as that is known. */
  schemaProblem(name: string): string | undefined;
}

/** Public names. */
export interface ToolsDiff {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Their definition changed, and is trusted. */
  readonly changed: readonly string[];
  /** They cannot be called any more. */
  readonly blocked: readonly string[];
  /** They can be called again. */
  readonly freed: readonly string[];
  /** Tools that could not be registered, and why. */
  readonly refused: readonly RefusedTool[];
}

type Changes = { readonly [Name in keyof ToolsDiff]: ToolsDiff[Name][number][] };

export interface ServerToolsOptions {
  readonly registry: ToolRegistrar;
  readonly pins: TrustedDefinitions;
  readonly call: CallUpstream;
  readonly readUi: ReadUi;
  readonly missing?: MissingFor | undefined;
  /** Default: among the tools of the configured servers. */
  readonly place?: ToolsPlace;
  /** Secrets of the server that the runtime does not know. */
  readonly known?: Iterable<string>;
  /** Masks secrets in a preview. */
  readonly redact: (text: string) => string;
}

/** Few milliseconds of work. */
const toolsATurn = 50;

/** One tool as its server lists it now. */
interface Listed {
  readonly name: string;
  readonly tool: UpstreamTool;
  readonly definition: Definition;
}

/** A tool as it is registered: by its listed definition, by the pinned one, or by its name alone. */
interface ShownTool extends Pick<Listed, "name" | "tool"> {
  readonly digest: string;
}

/**
 * The registered tools of one server. They follow its list: a tool that is no longer listed is unregistered.
 *
 * Invariant: a registered tool that is not blocked has its pinned definition. A tool whose definition changed is blocked
 * before anything is awaited, and clients are shown the pinned definition, not the new one.
 */
export class ServerTools {
  readonly #server: string;
  readonly #config: ServerConfig;
  readonly #options: ServerToolsOptions;
  readonly #place: ToolsPlace;
  /** Public name to the digest of the definition it was registered with. */
  readonly #registered = new Map<string, string>();
  readonly #blocked = new Set<string>();
  /** They are registered as they are pinned, and the server has not listed them yet. */
  readonly #assumed = new Set<string>();
  /** Refusals that were reported. Each is reported once. */
  readonly #refused = new Map<string, string>();
  #listed: UpstreamList | undefined;
  /** The server was connected before, by this process or an earlier one. */
  #isKnown = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(server: string, config: ServerConfig, options: ServerToolsOptions) {
    this.#server = server;
    this.#config = config;
    this.#options = options;
    this.#place = options.place ?? configuredPlace(server);
    checkPreviewTools(config, this.#place.settings);
  }

  get size(): number {
    return this.#registered.size;
  }

  /** The tools that the server lists and that cannot be offered. */
  get refused(): readonly RefusedTool[] {
    const unusable = [...this.#registered.keys()].flatMap((tool) => {
      const why = this.#options.registry.schemaProblem(tool);
      return why === undefined ? [] : [{ tool, why }];
    });
    return [...[...this.#refused].map(([tool, why]) => ({ tool, why })), ...unusable];
  }

  /** The definition with which a tool is registered. Returns undefined when it is not. */
  digestOf(tool: string): string | undefined {
    return this.#registered.get(this.#place.nameOf(localToolName(tool, this.#config)));
  }

  /** Whether a tool is registered with this definition, and the server's last list has the same. */
  isListedAs(tool: string, definition: string | undefined): boolean {
    if (this.digestOf(tool) !== definition) return false;
    if (definition === undefined) return true;
    const listed = this.#listed?.tools.find(({ name }) => name === tool);
    return listed !== undefined && definitionOf(listed).digest === definition;
  }

  /** The server's own names of all tools it listed last, offered or not. Returns undefined before the first list. */
  get listed(): readonly string[] | undefined {
    return (
      this.#listed && [...this.#listed.tools.map(({ name }) => name), ...this.#listed.malformed.map(({ tool }) => tool)]
    );
  }

  /**
   * Registers what is pinned of a server that was connected before, so that a client that comes before the first list sees it.
   * The first list corrects it before anything can be called. Returns false for a server that was not.
   *
   * @param only the server's own names that it listed last; all by default
   */
  async showPinned(pins: readonly Pin[], only?: readonly string[]): Promise<boolean> {
    if (await this.#isFirst()) return false;
    const diff = noChanges();
    for (const { tool: name, pinned, offered } of pins) {
      const tool = pinned && toolOf(pinned);
      if (pinned === undefined || tool === undefined || only?.includes(tool.name) === false) continue;
      if (!listedTools(this.#place, this.#config, { tools: [tool], malformed: [] }).wanted.has(name)) continue;
      try {
        this.#register({ name, tool, digest: pinned.digest }, diff);
        this.#assumed.add(name);
        if (offered !== undefined) this.#block(name, this.#changed(name, pinned, offered), diff);
        else this.#free(name, diff);
      } catch {
        // The first list tells why it cannot be registered.
      }
    }
    return true;
  }

  /** Lists are applied one after the other. */
  sync(list: UpstreamList): Promise<ToolsDiff> {
    this.#listed = list;
    const synced = this.#turn.then(() => this.#sync(list));
    this.#turn = synced.catch(() => undefined); // the caller receives the rejection; the next list does not depend on it
    return synced;
  }

  /** Applies the last list again, after an operator approved something. Returns undefined before the first list. */
  again(): Promise<ToolsDiff> | undefined {
    return this.#listed && this.sync(this.#listed);
  }

  async #sync(list: UpstreamList): Promise<ToolsDiff> {
    const diff = noChanges();
    const { wanted, refused, off } = listedTools(this.#place, this.#config, list);
    for (const name of this.#refused.keys()) if (!wanted.has(name) && !refused.has(name)) this.#refused.delete(name);
    for (const [name, why] of refused) if (!wanted.has(name)) this.#refuse(name, why, diff);
    for (const name of [...this.#registered.keys()]) if (!wanted.has(name)) this.#drop(name, diff);
    const listed = [...wanted].flatMap(([name, tool]) => this.#read(name, tool, diff) ?? []);
    for (const { name, definition } of listed) this.#blockChanged(name, definition);
    const isFirst = await this.#isFirst();
    for (let start = 0; start < listed.length; start += toolsATurn) {
      await ownTurn();
      await Promise.all(listed.slice(start, start + toolsATurn).map((one) => this.#put(one, isFirst, diff)));
    }
    if (isFirst) await this.#pinDisabled(off);
    return diff;
  }

  /** At a server's first connection its tools are trusted as they are. Tools that it adds later wait for an operator. */
  async #isFirst(): Promise<boolean> {
    this.#isKnown ||= await this.#options.pins.servers.knows(this.#server, this.#config).catch(() => false);
    return !this.#isKnown;
  }

  /** Pins the tools that are switched off, so that they are trusted when an operator switches them on later. */
  async #pinDisabled(off: readonly UpstreamTool[]): Promise<void> {
    const { pins } = this.#options;
    const strict = this.#config.pin === "strict";
    try {
      for (const tool of off) {
        const name = this.#place.nameOf(localToolName(tool.name, this.#config));
        await pins.recordSeen({ server: this.#server, tool: name }, definitionOf(tool), strict);
      }
      await pins.servers.keep(this.#server, this.#config);
      this.#isKnown = true;
    } catch {
      // Nothing can be stored now, so the next connection counts as the first one.
    }
  }

  #read(name: string, tool: UpstreamTool, diff: Changes): Listed | undefined {
    try {
      const problem = previewProblem(tool.name, this.#listed?.tools ?? [], this.#config);
      if (problem !== undefined) throw new Error(problem);
      return { name, tool, definition: definitionOf(tool) };
    } catch (error) {
      return this.#refuse(name, error, diff);
    }
  }

  /** Called before anything is awaited, so that a call that arrives meanwhile is refused. */
  #blockChanged(name: string, definition: Definition): void {
    const pinned = this.#options.pins.get(name)?.pinned;
    if (pinned === undefined || pinned.digest === definition.digest || !this.#registered.has(name)) return;
    this.#options.registry.block(name, this.#changed(name, pinned, definition));
  }

  async #put({ name, tool, definition }: Listed, isFirst: boolean, diff: Changes): Promise<void> {
    const { pins } = this.#options;
    const strict = this.#config.pin === "strict" || !(isFirst || this.#isRenamed(tool, definition));
    try {
      if (pins.trusts(name, strict)) {
        this.#register({ name, tool, digest: definition.digest }, diff); // a tool that cannot be registered is not pinned
        this.#options.registry.block(name, waitingBlock(name));
      }
      const problem = await this.#recordSeen(name, definition, strict);
      if (problem === undefined) this.#show({ name, tool, definition }, diff);
      else if (this.#registered.has(name)) this.#options.registry.block(name, waitingBlock(name, problem));
      this.#refused.delete(name);
    } catch (error) {
      this.#refuse(name, error, diff);
    }
  }

  /** The same definition is pinned under the server's own name, and the operator gave the tool another name. */
  #isRenamed({ name }: UpstreamTool, { digest }: Definition): boolean {
    const before = this.#options.pins.get(this.#place.nameOf(name))?.pinned;
    return localToolName(name, this.#config) !== name && before?.digest === digest;
  }

  /** Returns why the definition could not be stored; the tool cannot be called then. */
  async #recordSeen(name: string, definition: Definition, strict: boolean): Promise<string | undefined> {
    try {
      await this.#options.pins.recordSeen({ server: this.#server, tool: name }, definition, strict);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** Registers the pinned definition; a changed tool is blocked, and a new tool is blocked and shows only its name. */
  #show({ name, tool, definition }: Listed, diff: Changes): void {
    const { pinned } = this.#options.pins.get(name) ?? {};
    if (pinned?.digest === definition.digest) {
      this.#register({ name, tool, digest: definition.digest }, diff);
      this.#free(name, diff);
      return;
    }
    const known = pinned && toolOf(pinned);
    this.#register({ name, tool: known ?? unknownTool(tool), digest: known && pinned ? pinned.digest : "" }, diff);
    this.#block(name, pinned ? this.#changed(name, pinned, definition) : newBlock(name), diff);
  }

  #changed(name: string, pinned: StoredDefinition, definition: Pick<Definition, "body">): ToolBlock {
    return changedBlock(name, changedFields(pinned.body, definition.body), this.#place.onChange);
  }

  #register({ name, tool, digest }: ShownTool, diff: Changes): void {
    const before = this.#registered.get(name);
    const isAssumed = this.#assumed.delete(name);
    if (before === digest && !isAssumed) return; // icons and pages are not pinned, so an assumed tool is registered again
    const { riskSource, guess } = termsOf(tool, this.#config);
    const { registry, call, readUi, missing, known = [] } = this.#options;
    const preview = this.#previewOf(tool.name);
    registry.register(adapt(name, tool, { config: this.#config, call, readUi, preview, missing, known }), {
      server: this.#server,
      riskSource,
      ...(guess !== undefined && { guess }),
      ...(this.#config.mode === "observe" && { observe: true }),
      ...(before !== undefined && { replace: true }),
    });
    this.#registered.set(name, digest);
    (before === undefined || isAssumed ? diff.added : diff.changed).push(name);
  }

  /** The previews of a tool, made by another tool of its server while that one is trusted and can be called. */
  #previewOf(tool: string): AdaptOptions["preview"] {
    const own = previewToolOf(tool, this.#config);
    if (own === undefined) return undefined;
    const { registry, call, redact } = this.#options;
    const name = this.#place.nameOf(localToolName(own, this.#config));
    return async (given, context) => {
      const problem = registry.unavailable({ tool: name, facts: { server: this.#server } });
      if (problem !== undefined) throw new Error(problem);
      return redactJson(previewIn(await call(own, given, previewCallOf(context))), { redact });
    };
  }

  #block(name: string, block: ToolBlock, diff: Changes): void {
    this.#options.registry.block(name, block);
    if (!this.#blocked.has(name)) diff.blocked.push(name);
    this.#blocked.add(name);
  }

  #free(name: string, diff: Changes): void {
    this.#options.registry.block(name, undefined);
    if (this.#blocked.delete(name)) diff.freed.push(name);
  }

  #drop(name: string, diff: Changes): void {
    this.#options.registry.unregister(name);
    this.#registered.delete(name);
    this.#blocked.delete(name);
    if (!this.#assumed.delete(name)) diff.removed.push(name);
  }

  /** Unregisters the tool: the server no longer offers the old definition. */
  #refuse(name: string, error: unknown, diff: Changes): undefined {
    const isTaken = error instanceof RuntimeFault && error.code === "tool_name_invalid";
    const why = isTaken
      ? `${error.message} Give it another name: \`as\` of the tool in \`${this.#place.settings}\`.`
      : messageOf(error);
    if (this.#registered.has(name)) this.#drop(name, diff);
    if (this.#refused.get(name) !== why) diff.refused.push({ tool: name, why });
    this.#refused.set(name, why);
  }
}

function noChanges(): Changes {
  return { added: [], removed: [], changed: [], blocked: [], freed: [], refused: [] };
}

/** A model sees nothing of a definition that no operator approved, not even its description. */
function unknownTool({ name }: UpstreamTool): UpstreamTool {
  return { name, description: "Blocked until an operator approves its definition.", inputSchema: { type: "object" } };
}
