/** The public API over the path of a call. Every verb that can run a tool ends in `invoke()`. */

import {
  type AgentRuns,
  type Authority,
  CallRefused,
  type ChainScript,
  checkMember,
  type JsonObject,
  type Principal,
  refusal,
  refusedOutcome,
  runBatch,
  type ToolCall,
  type ToolOutcome,
  type Watcher,
} from "@postern/core";
import type { AuditLog } from "../../audit/log.ts";
import type { Skills } from "../../builtin/skills/skills.ts";
import {
  type CallClaims,
  checkNames,
  narrower,
  type PerCall,
  perCallFault,
  sharedKeyFault,
  withinOptions,
} from "../../call/authority.ts";
import { type Limits, Session } from "../../call/session.ts";
import { chainToolName } from "../../code-mode/names.ts";
import type { Connections } from "../../connections/connections.ts";
import type { Accounts } from "../../identity/accounts.ts";
import type { ToolPins } from "../../mcp/client/pins.ts";
import type { Servers } from "../../mcp/client/servers.ts";
import type { Alarms } from "../../observe/alarms/alarms.ts";
import type { AlarmRepository } from "../../observe/alarms/repository.ts";
import type { Feed } from "../../observe/feed.ts";
import { LiveFeed } from "../../observe/live-feed.ts";
import type { Metrics } from "../../observe/metrics/metrics.ts";
import type { OpenChannels } from "../../observe/notify/open-channels.ts";
import type { Runs } from "../../observe/runs/runs.ts";
import { shownEvent } from "../../observe/shown-event.ts";
import type { Stream } from "../../observe/stream.ts";
import type { Parts } from "../../pipeline/dependencies.ts";
import { type Explanation, explain } from "../../pipeline/explain.ts";
import { readByItself } from "../../pipeline/guard-result.ts";
import { invoke } from "../../pipeline/invoke.ts";
import { resume } from "../../pipeline/resume.ts";
import type { Controls } from "../../policy/controls.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import { readableOutcome } from "../../results/readable.ts";
import { releasePins } from "../../results/releases.ts";
import type { CallFilter, Store } from "../../store/store.ts";
import { isConcurrencySafe, withKey } from "../../tools/batch.ts";
import type { Registry } from "../../tools/registry.ts";
import { checkStatisticsRange, type Statistics, type StatisticsRange, statisticsOf } from "../../tools/statistics.ts";
import type { Offer } from "../../tools/tool.ts";
import type { Dispatcher } from "../../workers/dispatcher.ts";
import { type CallFactory, checkContext } from "../services/call-factory.ts";
import { healthOf, WriteProbe } from "../services/health.ts";
import type { InFlight } from "../services/in-flight.ts";
import { callNamed, callsWhere, LedgerService } from "../services/ledger-service.ts";
import { closedMessage, type ReEntry } from "../services/re-entry.ts";
import type { Storage } from "../services/storage.ts";
import { visibleTo } from "../services/visible-tools.ts";
import type {
  CallContext,
  CallRequest,
  Calls,
  Health,
  LedgerApi,
  Runtime,
  RuntimeSession,
  SessionCall,
  UpstreamHealth,
} from "./api.ts";
import type { ApprovalsApi } from "./approvals-api.ts";
import type { OpenChains } from "./chains.ts";

/** An open session: its authority and options hold for each of its calls. */
interface OpenedSession {
  readonly authority: Authority;
  readonly session: Session;
  readonly context: PerCall;
}

interface CallOf extends Pick<OpenedSession, "authority" | "session"> {
  readonly context: PerCall;
}

export interface RunningOptions {
  readonly parts: Parts;
  readonly entrance: ReEntry;
  readonly inFlight: InFlight;
  readonly workers: Dispatcher | undefined;
  readonly servers: Servers | undefined;
  readonly connections: Connections | undefined;
  readonly runs: Runs | undefined;
  readonly chains: OpenChains | undefined;
  readonly approvals: ApprovalsApi;
  readonly controls: Controls;
  readonly accounts: Accounts;
  readonly store: Store;
  readonly audit: AuditLog;
  readonly registry: Registry;
  readonly pins: ToolPins;
  readonly policy: Runtime["policy"];
  readonly note: Runtime["note"];
  readonly skills: Skills | undefined;
  readonly stream: Stream;
  readonly feed: LiveFeed;
  readonly metrics: Metrics | undefined;
  readonly agentRuns: AgentRuns;
  readonly alarms: Pick<AlarmRepository, "storeAlarm"> & Alarms;
  readonly channels: OpenChannels | undefined;
  readonly storage: Storage;
  readonly limits: Limits;
  /** Everything that must be closed, in the order of its opening. */
  readonly closing: AsyncDisposableStack;
}

export class RunningRuntime implements Runtime {
  readonly approvals: ApprovalsApi;
  readonly calls: Calls;
  readonly ledger: LedgerApi;
  readonly audit: AuditLog;
  readonly tools: Registry;
  readonly pins: ToolPins;
  readonly policy: Runtime["policy"];
  readonly artifacts: ArtifactStore;
  readonly controls: Controls;
  readonly accounts: Accounts;
  readonly skills: Skills | undefined;
  readonly feed: Feed;
  readonly metrics: Metrics | undefined;
  readonly agentRuns: AgentRuns;
  readonly alarms: Alarms;
  readonly channels: OpenChannels | undefined;
  readonly runs: Runs | undefined;
  readonly chains: OpenChains | undefined;
  readonly connections: Connections | undefined;
  readonly workers: Dispatcher | undefined;
  readonly storage: Storage;
  readonly note: Runtime["note"];
  readonly #options: RunningOptions;
  readonly #parts: Parts;
  readonly #factory: CallFactory;
  readonly #reEntry: ReEntry;
  readonly #writeProbe: WriteProbe;
  #draining: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: RunningOptions) {
    const { parts, store } = options;
    this.#options = options;
    this.#parts = parts;
    this.#writeProbe = new WriteProbe(store, parts.clock);
    this.#reEntry = options.entrance;
    this.#factory = options.entrance.factory;
    this.approvals = options.approvals;
    this.audit = options.audit;
    this.tools = options.registry;
    this.pins = options.pins;
    this.policy = options.policy;
    this.artifacts = parts.artifacts;
    this.controls = options.controls;
    this.accounts = options.accounts;
    this.skills = options.skills;
    this.feed = options.feed;
    this.metrics = options.metrics;
    this.agentRuns = options.agentRuns;
    this.alarms = options.alarms;
    this.channels = options.channels;
    this.runs = options.runs;
    this.chains = options.chains;
    this.connections = options.connections;
    this.workers = options.workers;
    this.storage = options.storage;
    this.note = options.note;
    const rows = { store, clock: parts.clock };
    this.calls = { list: (where: CallFilter = {}) => callsWhere(where, rows), get: (id) => callNamed(id, rows) };
    this.ledger = new LedgerService(parts, store, options.limits);
  }

  async invoke(request: CallRequest, context: CallContext = {}): Promise<ToolOutcome> {
    const session = new Session(this.#options.limits, this.#parts.clock);
    try {
      const authority = this.#factory.authority(context, session.limits);
      return await this.#invoke(request, { authority, session, context });
    } finally {
      if (session.hasPins) await this.#release(session);
    }
  }

  async call(tool: string, action: string, request: JsonObject, context?: CallContext): Promise<ToolOutcome> {
    const outcome = await this.invoke({ tool, action, arguments: request }, context);
    if (outcome.status !== "ok") throw new CallRefused(outcome);
    return outcome;
  }

  resume(approvalId: string, context: CallContext = {}): Promise<ToolOutcome | undefined> {
    return this.#reEntry.reEnter(context, async (arrival, caller) => {
      const outcome = await resume(approvalId, arrival, caller, this.#parts);
      return outcome && readableOutcome(outcome);
    });
  }

  runChain(script: ChainScript, context?: CallContext): Promise<ToolOutcome> {
    return this.invoke({ tool: chainToolName, arguments: { ...script } }, context);
  }

  async explain(request: CallRequest, context: CallContext = {}): Promise<Explanation> {
    const authority = this.#factory.authority(context, this.#options.limits);
    const { idempotencyKey, toolCallId, turn } = context;
    return explain(this.#factory.call(request, authority, { idempotencyKey, toolCallId, turn }), this.#parts);
  }

  openSession(asked: Partial<Limits> = {}, context: CallContext = {}): RuntimeSession {
    const { clock } = this.#parts;
    const limits = narrower(this.#options.limits, asked);
    const authority = this.#factory.authority(context, limits);
    if (context.idempotencyKey !== undefined) throw sharedKeyFault();
    const session = new Session(limits, clock);
    return this.#sessionOf({ authority, session, context }, async () => {
      if (session.closed) return;
      session.close();
      await this.#release(session);
    });
  }

  /** What it pinned belongs to the outer session. */
  #openWithin(outer: OpenedSession, asked: Partial<Limits>, call: SessionCall): RuntimeSession {
    const limits = narrower(outer.session.limits, asked);
    const { maxRiskUnapproved } = limits;
    const narrowed = this.#factory.within(outer.authority, call);
    const fault = perCallFault(call);
    if (fault !== undefined) throw fault;
    if (call.idempotencyKey !== undefined) throw sharedKeyFault();
    const session = new Session(limits, this.#parts.clock, undefined, outer.session);
    const authority = maxRiskUnapproved === undefined ? narrowed : Object.freeze({ ...narrowed, maxRiskUnapproved });
    const context = withinOptions(outer.context, call);
    return this.#sessionOf({ authority, session, context }, async () => session.close());
  }

  #sessionOf(opened: OpenedSession, close: () => Promise<void>): RuntimeSession {
    const { authority, session, context } = opened;
    const { limits } = session;
    return {
      runId: authority.runId,
      traceId: authority.traceId,
      limits,
      get callCount() {
        return session.callCount;
      },
      get trace() {
        return session.trace;
      },
      invoke: (request, call) =>
        call === undefined ? this.#invoke(request, opened) : this.#invokeWithin(request, opened, call),
      invokeAll: async (requests, call) => {
        if (call !== undefined) checkContext(call);
        const batch = new Set<string>();
        return runBatch(requests, isConcurrencySafe(this.#parts.tools), (one) =>
          call === undefined
            ? this.#invoke(one, { ...opened, context: withKey(context, one) }, batch)
            : this.#invokeWithin(one, opened, withKey(call, one), batch),
        );
      },
      openSession: (asked = {}, call = {}) => this.#openWithin(opened, asked, call),
      explain: async (request, call = {}) =>
        explain(this.#factory.call(request, this.#factory.within(authority, call), call), this.#parts, session.id),
      spend: () => session.spend() === undefined,
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  offered(principal?: Principal, runId?: string, tools?: readonly string[]): readonly Offer[] {
    checkNames("tools", tools);
    const visible = visibleTo({ principal, runId }, this.tools, this.#parts);
    const actions = tools === undefined ? visible : visible.filter(({ tool }) => tools.includes(tool));
    return this.chains?.described(actions) ?? actions;
  }

  watch(watcher: Watcher): Disposable {
    checkMember("watcher", watcher, "a function", "request_invalid");
    return this.#options.stream.watch((event) => watcher(shownEvent(event)));
  }

  async statistics(range: StatisticsRange = {}): Promise<Statistics> {
    checkStatisticsRange(range);
    return statisticsOf(this.#options.store, range, this.#options.parts.clock.now());
  }

  health(): Health {
    const { store, alarms, servers } = this.#options;
    return healthOf(store, alarms.storeAlarm.alarm, servers, this.tools.size);
  }

  async checkHealth(): Promise<Health> {
    const problem = await this.#writeProbe.problem();
    const { storeAlarm } = this.#options.alarms;
    if (problem === undefined) storeAlarm.works(); // without calls, only this write shows that there is room again
    const health = this.health();
    return problem === undefined || health.status === "broken" ? health : { ...health, status: "broken", problem };
  }

  async reconnectServer(name: string): Promise<UpstreamHealth | "busy" | undefined> {
    checkMember("name", name, "a text", "request_invalid");
    return this.#options.servers?.reconnect(name);
  }

  get draining(): boolean {
    return this.#reEntry.closing;
  }

  async close(graceMs = 10_000): Promise<void> {
    checkMember("graceMs", graceMs, "a whole number from 0", "request_invalid");
    this.#closing ??= this.#close(graceMs);
    await this.#closing;
  }

  async drain(graceMs = 10_000): Promise<void> {
    checkMember("graceMs", graceMs, "a whole number from 0", "request_invalid");
    this.#draining ??= this.#drain(graceMs);
    await this.#draining;
  }

  async #drain(graceMs: number): Promise<void> {
    this.#reEntry.closing = true;
    this.#parts.approvals.stopWaiting();
    const stopScripts = this.#parts.clock.in(Math.max(0, graceMs - 1000), () => this.chains?.stop());
    if (!(await this.#options.inFlight.areOver(graceMs))) {
      await this.#options.servers?.close(); // its connections know best which calls were sent
      await this.#options.inFlight.stop();
    }
    stopScripts();
    LiveFeed.endReaders(this.#options.feed);
  }

  async #close(graceMs: number): Promise<void> {
    await this.drain(graceMs);
    await this.#options.servers?.close();
    this.#reEntry.closed = true;
    await this.#options.closing.disposeAsync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #invokeWithin(
    request: CallRequest,
    { authority, session, context }: OpenedSession,
    call: CallClaims & PerCall,
    batch?: Set<string>,
  ): Promise<ToolOutcome> {
    const narrowed = this.#factory.within(authority, call);
    const fault = perCallFault(call);
    if (fault !== undefined) throw fault;
    const per = withinOptions(context, call);
    return await this.#invoke(request, { authority: narrowed, session, context: per }, batch);
  }

  /** @param batch keys of the calls of its batch so far, if it belongs to one */
  #invoke(
    request: CallRequest,
    { authority, session, context: per }: CallOf,
    batch?: Set<string>,
  ): Promise<ToolOutcome> {
    const fault = perCallFault(per);
    if (fault !== undefined) return Promise.reject(fault);
    let call: ToolCall;
    try {
      const { idempotencyKey, toolCallId, turn, providerItem } = per;
      call = this.#factory.call(request, authority, { idempotencyKey, toolCallId, turn, providerItem, batch });
    } catch (fault) {
      return Promise.reject(fault);
    }
    if (this.#reEntry.closed)
      return Promise.resolve(refusedOutcome(call.id, "error", refusal("session_closed", closedMessage)));
    const caller = this.#factory.caller(session, per);
    const arrived = this.#reEntry.closing ? { ...caller, isLate: true } : caller;
    return invoke(call, arrived, this.#parts).then(readableOutcome);
  }

  readArtifact(digest: string, reader: Principal): ReturnType<Runtime["readArtifact"]> {
    return readByItself(digest, reader, this.#parts);
  }

  /** Releases the artifacts that the session held; rows that need them keep them. */
  #release(session: Session): Promise<void> {
    return releasePins(session, this.#parts.artifacts, this.#parts.log);
  }
}
