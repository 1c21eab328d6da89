import { type Clock, checkMember, RuntimeFault, requireRisk, visible } from "@postern/core";
import { compile } from "./compile.ts";
import { HealthRecord } from "./health.ts";
import type { AnyTool } from "./kinds.ts";
import { stateOf, type ToolState } from "./live-state.ts";
import { TakenNames } from "./names.ts";
import { deferredOf, type OfferOptions, schemaNamed, schemasFor, type ToolSchema } from "./offers.ts";
import { type RegisteredTool, type RegisterOptions, registeredTool, type ToolBlock } from "./registered.ts";
import { JsonSchemas, type SchemaGuard } from "./schema/json-schema.ts";
import { ServerStates } from "./server-states.ts";
import { missingOf } from "./sign-in-needed.ts";
import { offText, type Switches } from "./switches.ts";
import type { Action, Offer, ToolHealth, Tools } from "./tool.ts";
import { isToolset, type Toolset, takeTools } from "./toolsets/toolset.ts";

export interface RegistryChange {
  /**
   * `policy`: another policy is in force, so callers may be offered other tools. `elsewhere`: another process of the store
   * changed what is offered.
   */
  readonly change: "added" | "removed" | "server" | "policy" | "elsewhere";
  /** The tool's name, the server's, the version of the policy, or what was changed. */
  readonly name: string;
}

export interface RegistryOptions {
  readonly clock: Clock;
  /** Read at every call. */
  readonly switches?: (() => Switches) | undefined;
  readonly onChange?: ((change: RegistryChange) => void) | undefined;
  /** Shared between registries of one process; made here when there is none, and then closed with this one. */
  readonly schemas?: JsonSchemas | undefined;
}

interface RegistryEntry {
  readonly tool: AnyTool;
  readonly actions: ReadonlyMap<string, Action>;
  readonly guards: readonly SchemaGuard[];
  readonly options: RegisterOptions;
  readonly health: HealthRecord;
  /** Ends following the tool's own state. */
  readonly unfollow: (() => void) | undefined;
}

/** Actions that can be run. They are not part of the public API. */
export interface RegisteredTools extends Tools {
  /** The tool as it was given to `register`. */
  toolNamed(name: string): AnyTool | undefined;
  /** States why a tool that the settings ask for is not registered. */
  setMissing(tool: string, why: string): void;
  /** Reports to followers that another policy is in force. */
  policyReplaced(version: string): void;
  /** Reports to followers that another process of the store changed `switches` or `skills`. */
  changedElsewhere(what: "switches" | "skills"): void;
}

let open: (registry: Registry) => RegisteredTools;

/** For the pipeline, and for code that needs the original tool. */
export function internalsOf(registry: Registry): RegisteredTools {
  return open(registry);
}

/**
 * The tools of a runtime, and their health. Registering compiles a tool, so every entry is complete.
 *
 * Invariant: names are unique also to the eye; finding an action is two map lookups. The public methods show data; only
 * `insideOf` leads to a tool's own functions.
 */
export class Registry implements AsyncDisposable {
  static {
    open = (registry) => registry.#inside;
  }
  readonly #clock: Clock;
  readonly #switches: () => Switches;
  readonly #schemas: JsonSchemas;
  readonly #ownsSchemas: boolean;
  readonly #listeners = new Set<(change: RegistryChange) => void>();
  readonly #entries = new Map<string, RegistryEntry>();
  readonly #names = new TakenNames();
  readonly #servers = new ServerStates();
  /** Why a tool that the settings ask for is not registered. */
  readonly #missing = new Map<string, string>();
  readonly #blocked = new Map<string, ToolBlock>();
  #locked = false;
  #offers: readonly Offer[] | undefined;
  readonly #inside: RegisteredTools = {
    find: (tool, action) => this.#entries.get(tool)?.actions.get(action),
    has: (tool) => this.has(tool),
    unavailable: (action) => this.unavailable(action),
    missing: (tool) =>
      this.#missing.get(tool) ?? this.#servers.whyNotListed(tool, (server) => this.#hasToolsOf(server)),
    setMissing: (tool, why) => void this.#missing.set(tool, why),
    policyReplaced: (version) => this.#announce({ change: "policy", name: version }),
    changedElsewhere: (what) => this.#announce({ change: "elsewhere", name: what }),
    missingFor: (tool, principal) => missingOf(this.#entries.get(tool)?.tool)?.(principal),
    serverArriving: (tool) => this.#servers.arriving(tool, this.#entries.get(tool)?.options.server),
    serverToStart: (tool) => this.#servers.start(this.#entries.get(tool)?.options.server),
    report: (action, went) => this.#report(action, went),
    toolNamed: (name) => this.#entries.get(name)?.tool,
    toolOfCallType: (type) => this.#names.ownerOfCallType(type),
  };

  constructor({ clock, switches = () => ({ offTools: [], offServers: [] }), onChange, schemas }: RegistryOptions) {
    this.#clock = clock;
    this.#switches = switches;
    this.#schemas = schemas ?? new JsonSchemas();
    this.#ownsSchemas = schemas === undefined;
    if (onChange !== undefined) this.#listeners.add(onChange);
  }

  /**
   * A set is registered whole or not at all; tools that it receives later are registered then.
   *
   * @throws RuntimeFault saying what is missing or refused (`options_invalid`)
   */
  register(tool: AnyTool, options?: RegisterOptions): RegisteredTool;
  register(tools: Toolset, options?: RegisterOptions): readonly RegisteredTool[];
  register(given: AnyTool | Toolset, options: RegisterOptions = {}): RegisteredTool | readonly RegisteredTool[] {
    return isToolset(given) ? this.#registerSet(given, options) : this.#register(given, options);
  }

  #registerSet(set: Toolset, options: RegisterOptions): readonly RegisteredTool[] {
    const registered: RegisteredTool[] = [];
    try {
      takeTools(set, (tool) => void registered.push(this.#register(tool, options)));
    } catch (error) {
      for (const { toolName } of registered) this.unregister(toolName);
      throw error;
    }
    return [...registered];
  }

  #register(tool: AnyTool, options: RegisterOptions): RegisteredTool {
    if (this.#locked) throw lockedFault(tool);
    const { actions, guards } = compile(tool, options, this.#schemas);
    const { name } = tool;
    this.#names.take(tool, actions, options.replace);
    const isReplaced = this.#entries.has(name);
    this.#entries.get(name)?.unfollow?.();
    const state = stateOf(tool);
    const entry: RegistryEntry = {
      tool,
      actions: new Map(actions.map((action) => [action.name, action])),
      guards,
      options,
      health: new HealthRecord(),
      unfollow: state?.follow((now) => this.#take(name, now)),
    };
    this.#entries.set(name, entry);
    for (const { ready } of guards)
      ready.catch(() => this.#announce({ change: "server", name: options.server ?? name })); // the tool is no longer offered
    if (isReplaced) this.#announce({ change: "removed", name });
    this.#announce({ change: "added", name });
    if (state !== undefined && state.now !== "callable") this.#take(name, state.now);
    return this.#view(entry);
  }

  #take(name: string, state: ToolState): void {
    if (state === "gone") this.unregister(name);
    else this.block(name, state === "callable" ? undefined : state);
  }

  /** Returns false when the registry is locked. Throws as `register` does for a tool that is refused itself. */
  tryRegister(tool: AnyTool, options: RegisterOptions = {}): boolean {
    if (this.#locked) return false;
    this.register(tool, options);
    return true;
  }

  unregister(name: string): boolean {
    this.#entries.get(name)?.unfollow?.();
    if (!this.#entries.delete(name)) return false;
    this.#names.free(name);
    this.#blocked.delete(name);
    this.#announce({ change: "removed", name });
    return true;
  }

  /** From now on no tool can be added. */
  lock(): void {
    this.#locked = true;
  }

  /** Resolves when every schema is compiled. Rejects with the first `options_invalid`. */
  async ready(): Promise<void> {
    await Promise.all([...this.#entries.values()].flatMap(({ guards }) => guards.map((guard) => guard.ready)));
  }

  offer(tool: string, action = "default"): Offer | undefined {
    const found = this.#entries.get(tool)?.actions.get(action);
    return found && offerOf(found);
  }

  /** Whether a tool has this name; of a tool object, whether it is this very object. */
  has(tool: string | AnyTool): boolean {
    return typeof tool === "string" ? this.#entries.has(tool) : this.#entries.get(tool.name)?.tool === tool;
  }

  /** Why it cannot be called now: switched off, server gone, rate limited. Returns undefined when it can. */
  unavailable(action: { readonly tool: string; readonly facts: Pick<Offer["facts"], "server"> }): string | undefined {
    const switches = this.#switches();
    if (switches.offTools.includes(action.tool)) return offText(switches, "tool", action.tool);
    const blocked = this.#blocked.get(action.tool);
    if (blocked !== undefined) return blocked.problem;
    const { server } = action.facts;
    if (server !== undefined) {
      if (switches.offServers.includes(server)) return offText(switches, "server", server);
      const away = this.#servers.whyAway(server);
      if (away !== undefined) return away;
    }
    const entry = this.#entries.get(action.tool);
    if (entry === undefined) return `\`${action.tool}\` is not registered any more`;
    return this.schemaProblem(action.tool) ?? entry.health.problem(this.#clock);
  }

  /** Why a tool's own schema cannot be used, once that is known. The tool is not offered then. */
  schemaProblem(name: string): string | undefined {
    return this.#entries.get(name)?.guards.find(({ problem }) => problem !== undefined)?.problem;
  }

  /** Records what others know about a tool: a lost connection, a provider's status page. Returns false if there is no such tool. */
  updateHealth(name: string, health: Partial<ToolHealth>): boolean {
    const entry = this.#entries.get(name);
    entry?.health.update(health);
    return entry !== undefined;
  }

  /**
   * While a server is down, all of its tools are unavailable.
   *
   * @param attempt the first attempt to connect it, which does not reject; calls of its tools wait for it
   */
  setServer(name: string, state: "up" | "down", problem?: string, attempt?: Promise<void>): void {
    if (!this.#servers.set(name, state, problem, attempt)) return;
    this.#announce({ change: "server", name });
  }

  /** Its tools can be called, and a call has to start it. `start` does not reject. */
  setIdle(name: string, start: () => Promise<void>): void {
    this.setServer(name, "up");
    this.#servers.setIdle(name, start);
  }

  /** Blocks every call of the tool until this is called with `undefined`, or the tool is unregistered. */
  block(name: string, block: ToolBlock | undefined): void {
    const before = this.#blocked.get(name);
    if (block === undefined) this.#blocked.delete(name);
    else this.#blocked.set(name, block);
    if (before?.why !== block?.why)
      this.#announce({ change: "server", name: this.#entries.get(name)?.options.server ?? name });
  }

  blocked(name: string): ToolBlock | undefined {
    return this.#blocked.get(name);
  }

  get(name: string): RegisteredTool | null {
    const entry = this.#entries.get(name);
    return entry === undefined ? null : this.#view(entry);
  }

  get size(): number {
    return this.#listed().length;
  }

  /** In alphabetical order. */
  names(): readonly string[] {
    return [...this.#entries.keys()].sort();
  }

  /** Tools with an action of this risk. @throws RuntimeFault `request_invalid` */
  byRisk(risk: string): readonly RegisteredTool[] {
    const level = requireRisk(risk);
    return this.all().filter(({ riskMap }) => Object.values(riskMap).includes(level));
  }

  all(): readonly RegisteredTool[] {
    return this.#sorted().map((entry) => this.#view(entry));
  }

  listHealthy(): readonly RegisteredTool[] {
    return this.all().filter(({ health }) => health.status === "healthy");
  }

  /** All that can be called, healthy or degraded. */
  listCallable(): readonly RegisteredTool[] {
    return this.all().filter(({ health }) => health.status !== "unavailable");
  }

  /** All that can be called, sorted by tool. It is the same list until something changes. */
  offers(): readonly Offer[] {
    this.#offers ??= Object.freeze(
      this.#sorted()
        .filter(({ tool }) => this.schemaProblem(tool.name) === undefined)
        .flatMap(({ actions }) => [...actions.values()].map(offerOf)),
    );
    return this.#offers;
  }

  /** A tool without an entry for the provider is left out, with a warning once. */
  schemas(options?: OfferOptions): readonly ToolSchema[] {
    return schemasFor(this.#sortedTools(), options);
  }

  schemaFor(name: string, options?: OfferOptions): ToolSchema | null {
    return schemaNamed(name, this.#sortedTools(), options);
  }

  deferredSchemas(options?: OfferOptions & { readonly includeToolSearch?: boolean }): readonly ToolSchema[] {
    return deferredOf(this.#sortedTools(), options);
  }

  /** Reports every change from now on, until the returned function is called. */
  follow(listener: (change: RegistryChange) => void): () => void {
    checkMember("listener", listener, "a function", "request_invalid");
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  toJSON(): readonly RegisteredTool[] {
    return this.all();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ownsSchemas) await this.#schemas.close();
  }

  #report({ tool }: Pick<Action, "tool">, went: Parameters<Tools["report"]>[1]): void {
    const health = this.#entries.get(tool)?.health;
    if (went.well) health?.succeeded(this.#clock.now());
    else health?.failed(went.error, went.rateLimitResetsAt);
  }

  #hasToolsOf(server: string): boolean {
    return [...this.#entries.values()].some(({ options }) => options.server === server);
  }

  #sortedTools(): readonly AnyTool[] {
    return this.#sorted().map(({ tool }) => tool);
  }

  #listed(): RegistryEntry[] {
    return [...this.#entries.values()].filter(({ options }) => options.unlisted !== true);
  }

  #sorted(): readonly RegistryEntry[] {
    return this.#listed().sort((one, other) => (one.tool.name < other.tool.name ? -1 : 1));
  }

  /** A tool that is blocked or whose server is down shows as unavailable, whatever its own health is. */
  #view(entry: RegistryEntry): RegisteredTool {
    const { tool, actions, options, health } = entry;
    const blocked = this.#blocked.get(tool.name);
    const lastError =
      blocked?.problem ?? (options.server === undefined ? undefined : this.#servers.problemOf(options.server));
    const shown: ToolHealth = {
      ...health.view(),
      ...(lastError !== undefined && { status: "unavailable", lastError }),
    };
    const view = registeredTool({ tool, actions: [...actions.values()], health: shown }, options);
    return blocked === undefined ? view : Object.freeze({ ...view, blocked: blocked.why });
  }

  #announce(change: RegistryChange): void {
    this.#offers = undefined;
    for (const listener of this.#listeners) listener(change);
  }
}

function lockedFault({ name }: AnyTool): RuntimeFault {
  return new RuntimeFault(
    "options_invalid",
    `${visible(name)} is refused: this runtime takes no tools after its start.`,
  );
}

const offers = new WeakMap<Action, Offer>();

/** An action without its functions. The same action gives the same object. */
function offerOf(action: Action): Offer {
  const known = offers.get(action);
  if (known !== undefined) return known;
  const { parse: _p, withoutAbsent: _w, classifyRisk: _c, execute: _e, reconcile, preview, ...data } = action;
  const offer: Offer = Object.freeze({ ...data, previews: preview !== undefined, reconciles: reconcile !== undefined });
  offers.set(action, offer);
  return offer;
}
