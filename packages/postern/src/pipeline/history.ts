/**
 * The past calls that rules look back at, by run, principal and tenant. A scope is read from the store when a rule first
 * needs it; claims and ends of this process keep it current.
 *
 * Invariant: a call is claimed only over the past that it was judged by. `add` refuses it otherwise, and it is judged
 * again. An added call is in the past at once; `confirm` keeps it, `remove` takes it out. Calls of this process are
 * compared here; the commit of the claim compares those of other processes of a shared store.
 */

import type { Authority, CallRecord, CallState, ClaimedPast, Clock, JsonObject, Principal, Risk } from "@postern/core";
import { runOfTheDay } from "../call/authority.ts";
import type { Histories, History, HistoryScope, Reads, ToolFacts } from "../policy/policy.ts";
import type { CallFilter, Store } from "../store/store.ts";
import { OthersCalls } from "./others-calls.ts";
import type { RunOwners } from "./run-owners.ts";
import { type HistoryEntry, isFromOutside, pastState, ScopedHistory } from "./scoped-history.ts";

/** The facts of a tool that was called. Returns undefined if the tool is gone. */
export type KnownTool = (
  tool: string,
  action: string,
) => { readonly facts: ToolFacts; readonly targetOf: (given: JsonObject) => string | undefined } | undefined;

/** The past that a call was judged by. */
export interface Past {
  readonly histories: Histories;
  readonly seen: readonly { readonly scope: History & { readonly id: string }; readonly version: number }[];
  /** The entry of the log up to which the calls of other processes are known. */
  readonly upTo: number;
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

/** A call in each of its scopes, before its claim is decided. */
export interface AddedCall {
  readonly key: string;
  readonly places: readonly { readonly scope: ScopedHistory; readonly entry: HistoryEntry }[];
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
  /** All scopes that the policy in force looks at; undefined if no rule looks back. */
  readonly reads: () => Reads | undefined;
  readonly store: Pick<Store, "call" | "calls" | "commit" | "documents" | "follow">;
  readonly clock: Clock;
  readonly known: KnownTool;
  /** The arguments a recorded call ran with, with the content of their artifacts. */
  readonly argumentsOf: (record: CallRecord) => Promise<JsonObject>;
}

export class CallHistory {
  readonly #runs: HistoryOptions["runs"];
  readonly #reads: HistoryOptions["reads"];
  readonly #store: HistoryOptions["store"];
  readonly #clock: Clock;
  readonly #known: KnownTool;
  readonly #argumentsOf: HistoryOptions["argumentsOf"];
  readonly #scopes = new Map<string, ScopedHistory>();
  /** Calls that have started and not ended, by key. */
  readonly #open = new Map<string, AddedCall>();
  /** Runs in which a principal read by itself what third parties wrote. No row says so. */
  readonly #readThirdParties = new Set<string>();
  /** Undefined in a store of one process. */
  readonly #others: OthersCalls | undefined;
  #upTo = -1;
  #hearing: Promise<void> = Promise.resolve();

  constructor({ runs, reads, store, clock, known, argumentsOf }: HistoryOptions) {
    this.#runs = runs;
    this.#reads = reads;
    this.#store = store;
    this.#clock = clock;
    this.#known = known;
    this.#argumentsOf = argumentsOf;
    if (store.documents.follow === undefined) return;
    this.#others = new OthersCalls(store);
    store.documents.follow(outsideKind, (id) => this.#readOutside(fromDocument(id)));
  }

  /** Whether a rule looks back, or did: a scope that was read stays current for the next policy. */
  get isRead(): boolean {
    return this.#scopes.size > 0 || this.#reads() !== undefined;
  }

  /** The past in the scopes of `reads`. A scope that is too large is left out, and rules over it count as broken. */
  async of(authority: Authority, reads: Reads): Promise<Past> {
    const wanted: WantedHistory[] = [];
    const loading: Promise<boolean>[] = [];
    for (const name of scopeNames) {
      const windowMs = reads[name];
      if (windowMs === undefined) continue;
      const scope = this.#scope(name, authority, windowMs);
      wanted.push({ name, scope });
      if (scope.loading !== undefined) loading.push(scope.loading);
    }
    if (loading.length > 0) await Promise.all(loading);
    if (this.#others !== undefined) await this.#hear(this.#others);
    return this.#pastOf(wanted);
  }

  /** What the commit of a claim compares. Undefined in a store of one process. */
  claimedPast({ authority, past }: Pick<CallBeginning, "authority" | "past">): ClaimedPast | undefined {
    if (this.#others === undefined) return undefined;
    const scopes = scopeNames.filter((name) => this.#reads()?.[name] !== undefined);
    return {
      scopes: scopes.map((name) => this.#nameOf(name, authority)),
      judgedBy: past?.seen.map(({ scope }) => scope.id) ?? [],
      upTo: past?.upTo ?? -1,
    };
  }

  /** A claim lost, because the past has this entry of another process. */
  othersChanged(seq: number): void {
    this.#others?.hearTo(seq);
  }

  /** Adds a call that is about to be claimed. Returns undefined if another call was claimed since this one was judged. */
  add({ past, authority, key, facts, ...call }: CallBeginning): AddedCall | undefined {
    if (past?.seen.some(({ scope, version }) => !this.#isCurrent(scope) || scope.version !== version) === true)
      return undefined;
    const { tool, action, server, effects } = facts;
    const places: { scope: ScopedHistory; entry: HistoryEntry }[] = [];
    for (const name of scopeNames) {
      const scope = this.#scopes.get(this.#nameOf(name, authority));
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
      scope.add(entry);
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
      scope.remove(entry);
    }
  }

  /**
   * The call ended. A result from the open world taints its run, because later calls may follow its instructions.
   *
   * @returns the scopes that are tainted now, for other processes of the store
   */
  ended(key: string, state: CallState, authority: Authority, fromOutside: boolean): readonly string[] | undefined {
    for (const entry of this.#scopes.size === 0 ? [] : this.#entries(key, authority)) // a scope that is read later finds the end in its row
      if (state === "suspended") entry.waits = true;
      else entry.state = pastState(state);
    if (state !== "suspended") this.#open.delete(key);
    if (!fromOutside || state === "suspended") return undefined;
    const id = this.#nameOf("run", authority);
    const run = this.#scopes.get(id);
    if (run?.tainted === true) return undefined;
    run?.taint();
    return this.#others === undefined || this.#reads()?.run === undefined ? undefined : [id];
  }

  /** A principal read by itself, without a call, what third parties wrote. Its run of the day is tainted until this process ends. */
  async sawThirdParties(principal: Principal): Promise<void> {
    const authority = { principal, runId: runOfTheDay(principal, this.#clock.now()) };
    const id = this.#nameOf("run", authority);
    const isNew = !this.#readThirdParties.has(id);
    await this.#scopes.get(id)?.loading;
    this.#readOutside(id);
    if (!isNew || this.#others === undefined) return;
    // Its version does not matter: the other processes of the store are told of it.
    const document = { kind: outsideKind, id: toDocument(id), body: true, expectedVersion: 0 };
    await this.#store.commit({ write: "document", ...document }, "committed");
  }

  /** Also if no rule looks back: the next policy may. */
  #readOutside(id: string): void {
    this.#readThirdParties.add(id);
    this.#scopes.get(id)?.taint();
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
      scope.trim(this.#clock.now());
      histories[name] = scope;
    }
    const seen = wanted.map(({ scope }) => ({ scope, version: scope.version }));
    return { histories, seen, upTo: this.#upTo };
  }

  /** Takes the calls of other processes into the scopes that are in memory, one reading after the other. */
  async #hear(others: OthersCalls): Promise<void> {
    const hearing = this.#hearing
      .catch(() => {})
      .then(async () => {
        try {
          const { upTo, rows } = await others.changed();
          if (rows === undefined) this.#scopes.clear();
          for (const row of rows ?? []) await this.#takeOther(row);
          this.#upTo = upTo;
        } catch (error) {
          this.#scopes.clear(); // what was not taken is read with its scope
          throw error;
        }
      });
    this.#hearing = hearing;
    await hearing;
  }

  async #takeOther(row: CallRecord): Promise<void> {
    const { startedAt } = row;
    if (startedAt === undefined || !begun.has(row.state)) return;
    for (const name of scopeNames) {
      const scope = this.#scopes.get(await this.#rowName(name, row, startedAt));
      if (scope === undefined) continue;
      scope.replace(this.#entryOf(row, await this.#argumentsOf(row), scope));
    }
  }

  #isCurrent(scope: Pick<ScopedHistory, "id">): boolean {
    return this.#scopes.get(scope.id) === scope;
  }

  /** The entries of a call, also those in scopes that were read again since it began. */
  #entries(key: string, authority: Authority): readonly HistoryEntry[] {
    const places = this.#open.get(key)?.places ?? [];
    const others = scopeNames.flatMap((name) => {
      const scope = this.#scopes.get(this.#nameOf(name, authority));
      if (scope === undefined || places.some((place) => place.scope === scope)) return [];
      return scope.calls.filter((entry) => entry.key === key);
    });
    return [...places.map(({ entry }) => entry), ...others];
  }

  /** Read again if another policy looks further back than it was read. */
  #scope(name: HistoryScope, authority: RunAuthority, windowMs: number): ScopedHistory {
    const id = this.#nameOf(name, authority);
    const known = this.#scopes.get(id);
    if (known !== undefined && known.windowMs >= windowMs) {
      this.#scopes.delete(id); // it becomes the most recently used
      this.#scopes.set(id, known);
      return known;
    }
    const scope = new ScopedHistory(id, Math.max(windowMs, this.#reads()?.[name] ?? 0));
    scope.tainted = name === "run" && this.#readThirdParties.has(id);
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
    if (name === "run" && this.#others !== undefined) {
      const found = await this.#store.documents.get(outsideKind, toDocument(id));
      if (found !== undefined) scope.tainted = true;
    }
    scope.addRead(read.reverse());
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

interface WantedHistory {
  readonly name: HistoryScope;
  readonly scope: ScopedHistory;
}

/** Runs whose principal read what third parties wrote, for the other processes of the store. */
const outsideKind = "read_outside";

/** Ids of documents are shown, so they hold no NUL. */
function toDocument(id: string): string {
  return JSON.stringify(id);
}

function fromDocument(id: string): string {
  return String(JSON.parse(id));
}

const scopeNames: readonly HistoryScope[] = ["run", "principal", "tenant"];
