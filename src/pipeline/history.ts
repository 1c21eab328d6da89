/**
 * What was begun before, as far as a policy's rules look back: by run, by principal, by tenant. Read from the store when a
 * scope is first asked about, then kept level by the claims and ends of this process.
 *
 * Invariant: a call that was weighed over one past is not claimed over another: `enter` refuses it, and it is weighed
 * again. What has entered stands in the past at once; whether it stays, its claim decides: `began` or `leave`, once. One process writes an embedded store, so the comparison is made here; a store that several processes share
 * carries the versions in its conditional claim.
 */
import type { Authority, Risk } from "../core/call.ts";
import type { Clock } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import type { CallRecord, CallState } from "../core/records.ts";
import type { Histories, History, HistoryScope, PastCall, Reads, ToolFacts } from "../policy/policy.ts";
import type { CallFilter, Store } from "../store/store.ts";
import type { RunOwners } from "./run-owners.ts";

/** What is known of a tool that was called; undefined: nobody offers it any more. */
export type KnownTool = (
  tool: string,
  action: string,
) => { readonly facts: ToolFacts; readonly targetOf: (given: JsonObject) => string | undefined } | undefined;

/** The past a call was weighed over. */
export interface Past {
  readonly histories: Histories;
  readonly seen: readonly { readonly id: string; readonly scope: History; readonly version: number }[];
}

/** What the claim of a call adds to the past. */
export interface Beginning {
  readonly key: string;
  readonly authority: Authority;
  readonly arguments: JsonObject;
  readonly risk: Risk;
  readonly facts: ToolFacts;
  readonly target: string | undefined;
  readonly past: Past | undefined;
  /** It was there before: held, or begun and to be tried again. */
  readonly isKnown: boolean;
}

interface HistoryEntry extends PastCall {
  readonly key: string;
  state: PastCall["state"];
  waits: boolean;
  /** What it stands for as well: an earlier try of the same call, which is back where this one's claim is lost. */
  before: HistoryEntry | undefined;
  isLost: boolean;
}

/** A call in each scope it stands in, its claim not decided yet. */
export interface Entered {
  readonly key: string;
  readonly places: readonly { readonly scope: ScopedHistory; readonly entry: HistoryEntry }[];
}

class ScopedHistory implements History {
  readonly windowMs: number;
  version = 0;
  tainted = false;
  calls: HistoryEntry[] = [];
  /** Undefined: it is read. */
  loading: Promise<boolean> | undefined;

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }
}

/** Scopes beyond these are forgotten, the longest unused first, and read again when they are asked about. */
const mostScopes = 10_000;
/** A scope with more calls than this cannot be seen: rules over it count as broken. */
const mostCalls = 100_000;
const pageRows = 1_000;
/** An approval lives no longer: a call that came before this and the window was not begun inside the window. */
const dayMs = 86_400_000;
const longestHeldMs = 31 * dayMs;
const begun: ReadonlySet<CallState> = new Set<CallState>(["attempted", "suspended", "ok", "failed", "unknown"]);

export interface HistoryOptions {
  readonly runs: Pick<RunOwners, "countedIn" | "mayUse">;
  /** All that the policy looks at. */
  readonly reads: Reads;
  readonly store: Pick<Store, "calls">;
  readonly clock: Clock;
  readonly known: KnownTool;
  /** What a recorded call ran with, with the content of the artifacts it names. */
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
  /** What has begun and not ended, by key. */
  readonly #open = new Map<string, Entered>();

  constructor({ runs, reads, store, clock, known, argumentsOf }: HistoryOptions) {
    this.#runs = runs;
    this.#reads = reads;
    this.#store = store;
    this.#clock = clock;
    this.#known = known;
    this.#argumentsOf = argumentsOf;
  }

  /** The scopes `reads` names; one that cannot be seen is left out, and rules over it count as broken. */
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

  /** Enters a call that is about to be claimed. Undefined: another was, since this one was weighed. */
  enter({ past, authority, key, facts, ...call }: Beginning): Entered | undefined {
    if (
      past?.seen.some(({ id, scope, version }) => this.#scopes.get(id) !== scope || scope.version !== version) === true
    )
      return undefined;
    const { tool, action, server, effects } = facts;
    const places: { scope: ScopedHistory; entry: HistoryEntry }[] = [];
    for (const name of scopeNames) {
      const scope = this.#reads[name] === undefined ? undefined : this.#scopes.get(this.#nameOf(name, authority));
      if (scope === undefined) continue; // it will be read with this call in it
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
  began(entered: Entered): void {
    for (const { entry } of entered.places) entry.before = undefined;
    if (entered.places.length > 0) this.#open.set(entered.key, entered);
  }

  /** The claim was lost or could not be written: it never began, and whatever did stands there again. */
  leave({ places }: Entered): void {
    for (const { scope, entry } of places) {
      entry.isLost = true;
      let last = entry.before;
      while (last?.isLost === true) last = last.before;
      const at = scope.calls.indexOf(entry);
      if (at < 0) continue; // a later try of the same call stands there, and knows of this one
      scope.calls = scope.calls.toSpliced(at, 1, ...(last === undefined ? [] : [last]));
      scope.version += 1;
    }
  }

  /** How it ended. A result from the open world taints its run: what follows may carry somebody else's wishes. */
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

  /** Somebody said later what became of a call that was `unknown`. */
  settled({ key, call, state, outcome }: CallRecord): void {
    for (const name of scopeNames) {
      const entries = this.#scopes.get(this.#nameOf(name, call.authority))?.calls ?? [];
      for (const entry of entries) if (entry.key === key) entry.state = pastState(state);
    }
    this.ended(key, state, call.authority, outcome?.marks !== undefined);
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

  /** What left the window is let go, now and then. */
  #trim(scope: ScopedHistory): void {
    const after = this.#clock.now() - scope.windowMs;
    const first = scope.calls[0];
    if (first === undefined || first.at > after || scope.calls.length < 64) return;
    scope.calls = scope.calls.filter(({ at }) => at > after);
  }

  #scope(name: HistoryScope, authority: Authority): ScopedHistory {
    const id = this.#nameOf(name, authority);
    const known = this.#scopes.get(id);
    if (known !== undefined) {
      this.#scopes.delete(id); // it goes to the end of those that may be forgotten
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

  async #load(scope: ScopedHistory, name: HistoryScope, authority: Authority): Promise<void> {
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
    const own = new Set(scope.calls.map(({ key }) => key)); // what was claimed meanwhile is known better here
    scope.calls = [...read.reverse().filter(({ key }) => !own.has(key)), ...scope.calls];
    scope.version += 1;
  }

  async #rowName(name: HistoryScope, { call: { authority } }: CallRecord, at: number): Promise<string> {
    if (name === "run") await this.#runs.mayUse(authority); // whose run it is must be known
    return this.#nameOf(name, authority, at);
  }

  /** Names hold no NUL (core/authority.ts). */
  #nameOf(scope: HistoryScope, authority: Authority, at: number = this.#clock.now()): string {
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

/** Somebody else's words were told: of an open-world tool, or as a guardrail has marked them. What was withheld nobody has read. */
export function isFromOutside(openWorld: boolean | undefined, outcome: ToolOutcome | undefined): boolean {
  return (openWorld === true || outcome?.marks !== undefined) && outcome?.refusal?.code !== "result_withheld";
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
