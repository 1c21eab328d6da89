/** Code mode as the public face has it: what runs, what waits, and going on with it. */

import type { MakeChild, ScriptHost } from "../code-mode/chain-dependencies.ts";
import { type ChainOptions, chainTerms } from "../code-mode/chain-options.ts";
import { chainTool } from "../code-mode/chain-tool.ts";
import { describeChain } from "../code-mode/describe-chain.ts";
import { Engines } from "../code-mode/engines.ts";
import { FrozenScripts } from "../code-mode/frozen.ts";
import { sweepFrozen } from "../code-mode/frozen-sweep.ts";
import { imageKey } from "../code-mode/image-key.ts";
import { LiveScripts } from "../code-mode/live-scripts.ts";
import { chainToolName } from "../code-mode/names.ts";
import { type ScriptOffer, ScriptOffers } from "../code-mode/offer.ts";
import { arrivalOf } from "../core/arrival.ts";
import { isForeign } from "../core/authority.ts";
import type { Principal, ToolCall } from "../core/call.ts";
import { checkId } from "../core/checked-id.ts";
import { checkMembers, type Kind } from "../core/checked-members.ts";
import { given } from "../core/given.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import type { CallRecord, CallState } from "../core/records.ts";
import type { ChainEngine, ChainSummary } from "../core/scripts.ts";
import type { Caller } from "../core/session.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { invoke } from "../pipeline/invoke.ts";
import { Sweeper } from "../results/sweeper.ts";
import { revealer } from "../secrets/lend.ts";
import { filledPage } from "../store/filled-page.ts";
import type { Store } from "../store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Offer } from "../tools/tool.ts";
import type { CallContext, Chains } from "./api.ts";

/** What the runtime gives: it makes the children, and lets recorded calls enter again. */
export interface ChainParts {
  readonly parts: Parts;
  readonly store: Store;
  readonly running: {
    readonly child: MakeChild;
    readonly tools: Pick<Registry, "blocked">;
    visible(principal: Principal): readonly Offer[];
    entering(
      context: CallContext,
      go: (arrival: Arrived, caller: Caller) => Promise<ToolOutcome | undefined>,
    ): Promise<ToolOutcome | undefined>;
  };
  readonly folder: string | undefined;
  readonly closing: AsyncDisposableStack;
}

/** What is asked of scripts, and the tool that runs them: who holds the one cannot run the other. */
export interface OpenedChains {
  readonly chains: OpenChains;
  /** None where no engine can run (SPEC 12.2). */
  readonly tools: readonly ReturnType<typeof chainTool>[];
}

type Arrived = Pick<ToolCall, "id" | "arrivedAt">;

/** @throws RuntimeFault for options that cannot work */
export async function openChains(options: ChainOptions, around: ChainParts): Promise<OpenedChains> {
  const terms = chainTerms(options);
  const { parts, store, running, folder, closing } = around;
  const engines = closing.use(await Engines.open(options, parts.clock, revealer(parts)));
  const live = closing.use(new LiveScripts());
  const frozen = new FrozenScripts(store, await imageKey(folder));
  const { clock, ledger, log } = parts;
  closing.use(new Sweeper({ sweep: () => sweepFrozen(frozen, ledger, clock), what: "Frozen scripts", clock, log }));
  // The very name of a tool nobody has approved yet is a stranger's word.
  const isShown = ({ tool }: Offer): boolean => running.tools.blocked(tool)?.why !== "new";
  const offers = new ScriptOffers();
  const offer = (principal: Principal): ScriptOffer => offers.for(running.visible(principal).filter(isShown));
  const house: ScriptHost = { parts, makeChild: running.child, offer, isShown, terms, engines, live, frozen };
  const tools = engines.languages.length === 0 ? [] : [chainTool(house)];
  return { chains: new OpenChains(house, store, running), tools };
}

type ScriptFilter = NonNullable<Parameters<Chains["list"]>[0]>;

const ofScripts: Readonly<Record<keyof ScriptFilter, Kind>> = {
  tenant: "a text",
  runId: "a text",
  principal: "an object",
  before: "a text",
  limit: "a whole number from 0",
};

export class OpenChains implements Chains {
  readonly #house: ScriptHost;
  readonly #store: Store;
  readonly #running: Pick<ChainParts["running"], "entering">;

  constructor(house: ScriptHost, store: Store, running: Pick<ChainParts["running"], "entering">) {
    this.#house = house;
    this.#store = store;
    this.#running = running;
  }

  engines(): Promise<readonly ChainEngine[]> {
    return this.#house.engines.states();
  }

  /** What is offered, with `tool_chain` described for whoever sees exactly this. */
  described(actions: readonly Offer[]): readonly Offer[] {
    const { engines, isShown } = this.#house;
    return describeChain(actions, isShown, engines.languages);
  }

  warm(): void {
    const { engines, parts } = this.#house;
    parts.clock.in(settledMs, () => void engines.warm(), false);
  }

  async list(asked: ScriptFilter = {}): Promise<readonly ChainSummary[]> {
    checkMembers(asked, { code: "filter_invalid", what: "The filter", members: ofScripts, of: "scripts" });
    const { principal, limit = 100, ...where } = asked;
    const isAsked = (record: CallRecord): boolean =>
      isOpen(record) && !isForeign(record.call.authority.principal, principal);
    const rows = (state: CallState): Promise<readonly CallRecord[]> =>
      filledPage((page) => this.#store.calls(page), { ...given(where), tool: chainToolName, limit, state }, isAsked);
    const found = await Promise.all([rows("suspended"), rows("unknown"), this.#live(asked)]);
    const scripts = new Map(found.flat().map((record) => [record.key, record])); // one may have gone on meanwhile
    const newToOld = [...scripts.values()].sort((one, other) => (one.call.id < other.call.id ? 1 : -1));
    return Promise.all(newToOld.slice(0, limit).map((record) => this.#summary(record)));
  }

  /** Those of this process: what else is attempted nobody runs any more. */
  async #live({ tenant, runId, principal, before }: ScriptFilter): Promise<readonly CallRecord[]> {
    const found = await Promise.all(this.#house.live.all.map(({ callId }) => this.#store.call({ key: callId })));
    return found
      .filter((record) => record !== undefined)
      .filter(({ state, call }) => state === "attempted" && (before === undefined || call.id < before))
      .filter(({ call: { authority } }) => tenant === undefined || authority.principal.tenant === tenant)
      .filter(({ call: { authority } }) => runId === undefined || authority.runId === runId)
      .filter(({ call: { authority } }) => !isForeign(authority.principal, principal));
  }

  async resume(callId: string, context: CallContext = {}): Promise<ToolOutcome | undefined> {
    checkId(callId, "call");
    const record = await this.#store.call({ key: callId });
    if (record?.call.tool !== chainToolName || !isOpen(record)) return undefined;
    if (isForeign(record.call.authority.principal, context.principal)) return undefined;
    return this.#running.entering(context, (arrival, caller) =>
      invoke(arrivalOf({ ...record.call, ...arrival, resumes: record.key }), caller, this.#house.parts),
    );
  }

  /** Its running scripts end now, each with what it did: the house closes. */
  stop(): void {
    this.#house.live[Symbol.dispose]();
  }

  async #summary({ key, call, state: at, startedAt, endedAt }: CallRecord): Promise<ChainSummary> {
    const state = at === "attempted" ? "running" : at === "suspended" ? "waiting" : "interrupted";
    const header = state === "running" ? undefined : await this.#house.frozen.header(key);
    const waits = state === "waiting" ? header : undefined; // one that went on since waits for that no more
    const { code, language } = call.arguments;
    const said = header?.language ?? (typeof language === "string" ? language : undefined);
    return {
      callId: call.id,
      state,
      ...(state !== "running" && { advice: advices[state] }),
      principal: call.authority.principal,
      runId: call.authority.runId,
      language: said,
      source: this.#house.parts.redactor.redact(typeof code === "string" ? code : "").slice(0, longestSource),
      since: waits?.frozenAt ?? endedAt ?? startedAt ?? call.arrivedAt,
      waiting: (waits?.waiting ?? []).map(({ tool, approvalId, line }) => ({
        tool,
        approvalId,
        ...(line !== undefined && { line }),
      })),
      lines: header?.lines ?? this.#house.live.linesOf(call.id),
      ...(header !== undefined && { engine: header.driver, imageBytes: header.imageBytes }),
      ...(waits !== undefined && { expiresAt: waits.expiresAt }),
    };
  }
}

/** It waits, or was cut short. */
function isOpen({ state, retryable }: CallRecord): boolean {
  return state === "suspended" || (state === "unknown" && retryable);
}

const advices: Readonly<Record<Exclude<ChainSummary["state"], "running">, string>> = {
  waiting: "It goes on when what it waits for is decided and the same call is sent again, or it is resumed.",
  interrupted:
    "It was cut short. What it did is on record and is not repeated: send the same call again, or resume it. Where it is not to go on, settle it.",
};

const longestSource = 20_000;
/** Whoever has just started has other work first, and may be over again. */
const settledMs = 1_000;
