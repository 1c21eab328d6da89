/**
 * The past calls that rules look back at, by run, principal and tenant. A scope is read from the store when a rule first
 * needs it; claims and ends of this process keep it current.
 *
 * Invariant: a call is claimed only over the past that it was judged by. `add` refuses it otherwise, and it is judged
 * again. An added call is in the past at once; `confirm` keeps it, `remove` takes it out. The comparison is made here,
 * because one process writes an embedded store.
 */

import type { Authority, CallRecord, CallState, Clock, JsonObject, Principal, Risk, ToolOutcome } from "@postern/core";
import { runOfTheDay } from "../call/authority.ts";
import type { Histories, History, HistoryScope, PastCall, Reads, ToolFacts } from "../policy/policy.ts";
import type { CallFilter, Store } from "../store/store.ts";
import type { RunOwners } from "./run-owners.ts";

/** The facts of a tool that was called. Returns undefined if the tool is gone. */
export type KnownTool = (
  tool: string,
  action: string,
) => { readonly facts: ToolFacts; readonly targetOf: (given: JsonObject) => string | undefined } | undefined;

/** The past that a call was judged by. */
export interface Past {
  readonly histories: Histories;
  readonly seen: readonly { readonly id: string; readonly scope: History; readonly version: number }[];
}

/** What the claim of a call adds to the past. */
export interface CallBeginning {
  readonly key: string;
  readonly authority: Authority;
  readonly arguments: JsonObject;
  readonly risk: Risk;
  readonly facts: ToolFacts;
  readonly target: string | undefined;
  readonly past: Past | undefined;
  /** Whether the call has a record: it was held, or is tried again. */
  readonly isKnown: boolean;
}

interface HistoryEntry extends PastCall {
  readonly key: string;
  state: PastCall["state"];
  waits: boolean;
  /** An earlier try of the same call, which returns if the claim of this one is lost. */
  before: HistoryEntry | undefined;
  isLost: boolean;
}

/** A call in each of its scopes, before its claim is decided. */
export interface AddedCall {
  readonly key: string;
  readonly places: readonly { readonly scope: ScopedHistory; readonly entry: HistoryEntry }[];
}

class ScopedHistory implements History {
  readonly windowMs: number;
  version = 0;
  tainted = false;
  calls: HistoryEntry[] = [];
  /** Undefined once the scope is read. */
  loading: Promise<boolean> | undefined;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }
}

type RunAuthority = Pick<Authority, "principal" | "runId">;

/** Scopes kept in memory; the longest unused are dropped and read again when needed. */
const mostScopes = 10_000;
/** Most calls in a scope; rules over a larger scope count as broken. */
const mostCalls = 100_000;
const pageRows = 1_000;
/** Longest life of an approval: an older call cannot have started inside the window. */
const dayMs = 86_400_000;
const longestHeldMs = 31 * dayMs;
const begun: ReadonlySet<CallState> = new Set<CallState>(["attempted", "suspended", "ok", "failed", "unknown"]);

export interface HistoryOptions {
  readonly runs: Pick<RunOwners, "countedIn" | "mayUse">;
  /** All scopes that the policy looks at. */
  readonly reads: Reads;
  readonly store: Pick<Store, "calls">;
  readonly clock: Clock;
  readonly known: KnownTool;
  /** The arguments a recorded call ran with, with the content of their artifacts. */
  readonly argumentsOf: (record: CallRecord) => Promise<JsonObject>;
}

export class CallHistory {
  readonly #runs: HistoryOptions["runs"];
  readonly #reads: Reads;
  readonly #store: HistoryOptions["store"];
  readonly #clock: Clock;
  readonly #known: KnownTool;
  readonly #argumentsOf: HistoryOptions["argumentsOf"];
  readonly #scopes = new Map<string, ScopedHistory>();
  /** Calls that have started and not ended, by key. */
  readonly #open = new Map<string, AddedCall>();

  constructor({ runs, reads, store, clock, known, argumentsOf }: HistoryOptions) {
    this.#runs = runs;
    this.#reads = reads;
    this.#store = store;
    this.#clock = clock;
    this.#known = known;
    this.#argumentsOf = argumentsOf;
  }

  /** The past in the scopes of `reads`. A scope that is too large is left out, and rules over it count as broken. */
  async of(authority: Authority, reads: Reads): Promise<Past> {
    const wanted: WantedHistory[] = [];
    const loading: Promise<boolean>[] = [];
    for (const name of scopeNames) {
      if (reads[name] === undefined) continue;
      const scope = this.#scope(name, authority);
      wanted.push({ name, id: this.#nameOf(name, authority), scope });
      if (scope.loading !== undefined) loading.push(scope.loading);
    }
    if (loading.length > 0) await Promise.all(loading);
    return this.#pastOf(wanted);
  }

  /** Adds a call that is about to be claimed. Returns undefined if another call was claimed since this one was judged. */
  add({ past, authority, key, facts, ...call }: CallBeginning): AddedCall | undefined {
    if (
      past?.seen.some(({ id, scope, version }) => this.#scopes.get(id) !== scope || scope.version !== version) === true
    )
      return undefined;
    const { tool, action, server, effects } = facts;
    const places: { scope: ScopedHistory; entry: HistoryEntry }[] = [];
    for (const name of scopeNames) {
      const scope = this.#reads[name] === undefined ? undefined : this.#scopes.get(this.#nameOf(name, authority));
      if (scope === undefined) continue; // this call is in it once it is read
      const before = call.isKnown ? scope.calls.findLast((other) => other.key === key) : undefined; // the same call, tried again
      const entry: HistoryEntry = {
        ...{ key, tool, action, effects, risk: call.risk, arguments: call.arguments },
        ...(server !== undefined && { server }),
        ...(call.target !== undefined && { target: call.target }),
        at: this.#clock.now(),
        state: "attempted",
        waits: false,
        before,
        isLost: false,
      };
      if (before !== undefined) scope.calls = scope.calls.filter((other) => other !== before);
      scope.calls.push(entry);
      scope.version += 1;
      places.push({ scope, entry });
    }
    return { key, places };
  }

  /** The claim was won. */
  confirm(added: AddedCall): void {
    for (const { entry } of added.places) entry.before = undefined;
    if (added.places.length > 0) this.#open.set(added.key, added);
  }

  /** The claim was lost or could not be written: the entry is taken out, and an earlier try returns. */
  remove({ places }: AddedCall): void {
    for (const { scope, entry } of places) {
      entry.isLost = true;
      let last = entry.before;
      while (last?.isLost === true) last = last.before;
      const at = scope.calls.indexOf(entry);
      if (at < 0) continue; // a later try of the same call has replaced it
      scope.calls = scope.calls.toSpliced(at, 1, ...(last === undefined ? [] : [last]));
      scope.version += 1;
    }
  }

  /** The call ended. A result from the open world taints its run, because later calls may follow its instructions. */
  ended(key: string, state: CallState, authority: Authority, fromOutside: boolean): void {
    const open = this.#open.get(key);
    if (open !== undefined && state === "suspended") for (const { entry } of open.places) entry.waits = true;
    if (open !== undefined && state !== "suspended") {
      this.#open.delete(key);
      for (const { entry } of open.places) entry.state = pastState(state);
    }
    if (!fromOutside || state === "suspended") return;
    const run = this.#scopes.get(this.#nameOf("run", authority));
    if (run === undefined || run.tainted) return;
    run.tainted = true;
    run.version += 1;
  }

  /** A principal read by itself, without a call, what third parties wrote. Its run of the day is tainted until this process ends. */
  async sawThirdParties(principal: Principal): Promise<void> {
    if (this.#reads.run === undefined) return;
    const runId = runOfTheDay(principal, this.#clock.now());
    const scope = this.#scope("run", { principal, runId });
    await scope.loading;
    scope.tainted = true;
    scope.version += 1;
  }

  /** An `unknown` call was settled. */
  settled({ key, call, state, outcome }: CallRecord): void {
    for (const name of scopeNames) {
      const entries = this.#scopes.get(this.#nameOf(name, call.authority))?.calls ?? [];
      for (const entry of entries) if (entry.key === key) entry.state = pastState(state);
    }
    this.ended(key, state, call.authority, isFromOutside(false, outcome));
  }

  #pastOf(wanted: readonly WantedHistory[]): Past {
    const histories: { [S in HistoryScope]?: History } = {};
    for (const { name, scope } of wanted) {
      if (scope.calls.length > mostCalls) continue;
      this.#trim(scope);
      histories[name] = scope;
    }
    return { histories, seen: wanted.map(({ id, scope }) => ({ id, scope, version: scope.version })) };
  }

  /** Drops calls that left the window, now and then. */
  #trim(scope: ScopedHistory): void {
    const after = this.#clock.now() - scope.windowMs;
    const first = scope.calls[0];
    if (first === undefined || first.at > after || scope.calls.length < 64) return;
    scope.calls = scope.calls.filter(({ at }) => at > after);
  }

  #scope(name: HistoryScope, authority: RunAuthority): ScopedHistory {
    const id = this.#nameOf(name, authority);
    const known = this.#scopes.get(id);
    if (known !== undefined) {
      this.#scopes.delete(id); // it becomes the most recently used
      this.#scopes.set(id, known);
      return known;
    }
    const scope = new ScopedHistory(this.#reads[name] ?? Number.POSITIVE_INFINITY);
    this.#scopes.set(id, scope);
    for (const oldest of this.#scopes.keys()) {
      if (this.#scopes.size <= mostScopes) break;
      this.#scopes.delete(oldest);
    }
    scope.loading = this.#load(scope, name, authority).then(
      () => {
        scope.loading = undefined;
        return true;
      },
      (error: unknown) => {
        if (this.#scopes.get(id) === scope) this.#scopes.delete(id); // the next call tries again
        throw error;
      },
    );
    return scope;
  }

  async #load(scope: ScopedHistory, name: HistoryScope, authority: RunAuthority): Promise<void> {
    const { principal, runId } = authority;
    const id = this.#nameOf(name, authority);
    const isWholeRun = id.startsWith("run\0");
    const where: CallFilter = { tenant: principal.tenant, ...(isWholeRun && { runId }), limit: pageRows };
    const after = this.#clock.now() - scope.windowMs;
    const earliest = id.startsWith("day\0") ? this.#clock.now() - dayMs : after - longestHeldMs;
    const read: HistoryEntry[] = [];
    for (let before: string | undefined; read.length <= mostCalls; ) {
      const rows = await this.#store.calls(before === undefined ? where : { ...where, before });
      for (const row of rows) {
        if (row.startedAt === undefined || row.startedAt <= after || !begun.has(row.state)) continue;
        if (!isWholeRun && (await this.#rowName(name, row, row.startedAt)) !== id) continue;
        read.push(this.#entryOf(row, await this.#argumentsOf(row), scope));
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageRows || last.call.arrivedAt < earliest) break;
      before = last.call.id;
    }
    const own = new Set(scope.calls.map(({ key }) => key)); // entries of this process are newer than the rows
    scope.calls = [...read.reverse().filter(({ key }) => !own.has(key)), ...scope.calls];
    scope.version += 1;
  }

  async #rowName(name: HistoryScope, { call: { authority } }: CallRecord, at: number): Promise<string> {
    if (name === "run") await this.#runs.mayUse(authority); // loads the owner of the run
    return this.#nameOf(name, authority, at);
  }

  /** Names contain no NUL (call/authority.ts), so this is unambiguous. */
  #nameOf(scope: HistoryScope, authority: RunAuthority, at: number = this.#clock.now()): string {
    const { tenant, agent, user = "" } = authority.principal;
    if (scope === "run") return this.#runs.countedIn(authority, at);
    return scope === "tenant" ? `tenant\0${tenant}` : `principal\0${tenant}\0${agent}\0${user}`;
  }

  #entryOf(
    { key, call, risk, state, outcome, startedAt: at = 0 }: CallRecord,
    given: JsonObject,
    scope: ScopedHistory,
  ): HistoryEntry {
    const known = this.#known(call.tool, call.action);
    const { effects = "destructive", server } = known?.facts ?? {};
    if (
      isFromOutside(known?.facts.openWorld ?? known === undefined, outcome) &&
      state !== "attempted" &&
      state !== "suspended"
    )
      scope.tainted = true;
    const target = known?.targetOf(given);
    return {
      ...{ key, tool: call.tool, action: call.action, effects, risk, at, arguments: given },
      ...(server !== undefined && { server }),
      ...(target !== undefined && { target }),
      state: pastState(state),
      waits: state === "suspended",
      before: undefined,
      isLost: false,
    };
  }
}

/** Whether the outcome has text of third parties: of an open-world tool or an artifact of one, or marked. A withheld result does not count. */
export function isFromOutside(openWorld: boolean | undefined, outcome: ToolOutcome | undefined): boolean {
  const { marks, openWorld: isOfArtifact, refusal } = outcome ?? {};
  return (openWorld === true || marks !== undefined || isOfArtifact === true) && refusal?.code !== "result_withheld";
}

interface WantedHistory {
  readonly name: HistoryScope;
  readonly id: string;
  readonly scope: ScopedHistory;
}

const scopeNames: readonly HistoryScope[] = ["run", "principal", "tenant"];

function pastState(state: CallState): PastCall["state"] {
  return state === "ok" || state === "failed" || state === "unknown" ? state : "attempted";
}
