/** Code mode in the public API: scripts that run or wait, and resuming them. */

import {
  type CallRecord,
  type CallState,
  type ChainEngine,
  type ChainSummary,
  checkId,
  checkMembers,
  defined,
  type Kind,
  type Principal,
  type ToolOutcome,
} from "@postern/core";
import { arrivalOf } from "../../call/arrival.ts";
import { isForeign } from "../../call/authority.ts";
import { type ChainOptions, chainTerms } from "../../code-mode/chain-options.ts";
import { chainTool, describeChain } from "../../code-mode/chain-tool.ts";
import { Engines } from "../../code-mode/engines.ts";
import { FrozenScripts, sweepFrozen } from "../../code-mode/frozen.ts";
import { imageKey } from "../../code-mode/image-key.ts";
import { LiveScripts } from "../../code-mode/live-scripts.ts";
import { chainToolName } from "../../code-mode/names.ts";
import { scriptOffer } from "../../code-mode/offer.ts";
import type { MakeChild, ScriptHost } from "../../code-mode/script-run.ts";

import type { Parts } from "../../pipeline/dependencies.ts";
import { invoke } from "../../pipeline/invoke.ts";
import { Sweeper } from "../../results/sweeper.ts";
import { revealer } from "../../secrets/lend.ts";
import { filledPage } from "../../store/filled-page.ts";
import type { Store } from "../../store/store.ts";
import type { Registry } from "../../tools/registry.ts";
import type { Offer } from "../../tools/tool.ts";
import type { ReEntry } from "../services/re-entry.ts";
import type { CallContext, Chains } from "./api.ts";

/** The parts of the runtime that scripts need. */
export interface ChainParts {
  readonly parts: Parts;
  readonly store: Store;
  readonly running: {
    readonly tools: Pick<Registry, "blocked">;
    readonly visible: (principal: Principal) => readonly Offer[];
    readonly entrance: ReEntry;
  };
  readonly folder: string | undefined;
  readonly closing: AsyncDisposableStack;
}

/** The API of scripts, and the tool that runs them. */
export interface OpenedChains {
  readonly chains: OpenChains;
  /** Empty if no engine can run. */
  readonly tools: readonly ReturnType<typeof chainTool>[];
  /** Why no engine can run. */
  readonly missing?: string;
}

/** @throws RuntimeFault for invalid options */
export async function openChains(options: ChainOptions, around: ChainParts): Promise<OpenedChains> {
  const terms = chainTerms(options);
  const { parts, store, running, folder, closing } = around;
  const engines = closing.use(await Engines.open(options, parts.clock, revealer(parts)));
  const live = closing.use(new LiveScripts());
  const frozen = new FrozenScripts(store, await imageKey(folder));
  const { clock, ledger, log } = parts;
  for (const warning of await engines.warnings()) log(warning);
  closing.use(new Sweeper({ sweep: () => sweepFrozen(frozen, ledger, clock), what: "Frozen scripts", clock, log }));
  // The name of a tool that no operator has approved yet is untrusted text.
  const isShown = ({ tool }: Offer): boolean => running.tools.blocked(tool)?.why !== "new";
  const offer: ScriptHost["offer"] = ({ principal, tools }) =>
    scriptOffer(
      running.visible(principal).filter((action) => isShown(action) && tools?.includes(action.tool) !== false),
    );
  const makeChild: MakeChild = (parent, number, request) => running.entrance.child(parent, number, request);
  const host: ScriptHost = { parts, makeChild, offer, isShown, terms, engines, live, frozen };
  const chains = new OpenChains(host, store, running.entrance);
  if (engines.languages.length > 0) return { chains, tools: [chainTool(host)] };
  return { chains, tools: [], missing: await engines.problemFor("javascript") };
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
  readonly #host: ScriptHost;
  readonly #store: Store;
  readonly #entrance: ReEntry;

  constructor(host: ScriptHost, store: Store, entrance: ReEntry) {
    this.#host = host;
    this.#store = store;
    this.#entrance = entrance;
  }

  engines(): Promise<readonly ChainEngine[]> {
    return this.#host.engines.states();
  }

  /** The offered tools, with `tool_chain` described for exactly these. */
  described(actions: readonly Offer[]): readonly Offer[] {
    const { engines, isShown } = this.#host;
    return describeChain(actions, isShown, engines.languages);
  }

  warm(): void {
    const { engines, parts } = this.#host;
    parts.clock.in(warmDelayMs, () => void engines.warm(), false);
  }

  async list(asked: ScriptFilter = {}): Promise<readonly ChainSummary[]> {
    checkMembers(asked, { code: "request_invalid", what: "The filter", members: ofScripts, of: "scripts" });
    const { principal, limit = 100, ...where } = asked;
    const isAsked = (record: CallRecord): boolean =>
      isOpen(record) && !isForeign(record.call.authority.principal, principal);
    const rows = (state: CallState): Promise<readonly CallRecord[]> =>
      filledPage((page) => this.#store.calls(page), { ...defined(where), tool: chainToolName, limit, state }, isAsked);
    const found = await Promise.all([rows("suspended"), rows("unknown"), this.#live(asked)]);
    const scripts = new Map(found.flat().map((record) => [record.key, record])); // a script may be in two lists
    const newToOld = [...scripts.values()].sort((one, other) => (one.call.id < other.call.id ? 1 : -1));
    return Promise.all(newToOld.slice(0, limit).map((record) => this.#summary(record)));
  }

  /** Scripts that run in this process. */
  async #live({ tenant, runId, principal, before }: ScriptFilter): Promise<readonly CallRecord[]> {
    const found = await Promise.all(this.#host.live.all.map(({ callId }) => this.#store.call({ key: callId })));
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
    return this.#entrance.reEnter(context, (arrival, caller) =>
      invoke(arrivalOf({ ...record.call, ...arrival, resumes: record.key }), caller, this.#host.parts),
    );
  }

  /** Ends the running scripts, because the runtime closes. */
  stop(): void {
    this.#host.live[Symbol.dispose]();
  }

  async #summary({ key, call, state: at, startedAt, endedAt }: CallRecord): Promise<ChainSummary> {
    const state = at === "attempted" ? "running" : at === "suspended" ? "waiting" : "interrupted";
    const header = state === "running" ? undefined : await this.#host.frozen.header(key);
    const waits = state === "waiting" ? header : undefined;
    const { code, language } = call.arguments;
    const recordedLanguage = header?.language ?? (typeof language === "string" ? language : undefined);
    return {
      callId: call.id,
      state,
      ...(state !== "running" && { advice: advices[state] }),
      principal: call.authority.principal,
      runId: call.authority.runId,
      language: recordedLanguage,
      source: this.#host.parts.redactor.redact(typeof code === "string" ? code : "").slice(0, longestSource),
      since: waits?.frozenAt ?? endedAt ?? startedAt ?? call.arrivedAt,
      waiting: (waits?.waiting ?? []).map(({ tool, approvalId, line }) => ({
        tool,
        approvalId,
        ...defined({ line }),
      })),
      lines: header?.lines ?? this.#host.live.linesOf(call.id),
      ...(header !== undefined && { engine: header.driver, imageBytes: header.imageBytes }),
      ...(waits !== undefined && { expiresAt: waits.expiresAt }),
    };
  }
}

/** Whether it waits or was interrupted. */
function isOpen({ state, retryable }: CallRecord): boolean {
  return state === "suspended" || (state === "unknown" && retryable);
}

const advices: Readonly<Record<Exclude<ChainSummary["state"], "running">, string>> = {
  waiting: "It continues after the decision, when the same call is sent again or the script is resumed.",
  interrupted:
    "It was interrupted. Its calls are recorded and are not repeated: send the same call again, or resume it. To end it, settle it.",
};

const longestSource = 20_000;
/** Delay before engines are warmed, in milliseconds. */
const warmDelayMs = 1_000;
