import {
  type Authority,
  isJsonObject,
  type JsonObject,
  refusal,
  refusedOutcome,
  type ToolCall,
  type ToolOutcome,
} from "@postern/core";
import { type AskedCall, type ScriptProgram, tooLarge } from "@postern/core/sandbox";
import { arrivalOf } from "../call/arrival.ts";
import { type Ending, isEnding, outcomeOf, refuse } from "../call/ending.ts";
import type { Caller, Limits, Session } from "../call/session.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { keyOf } from "../pipeline/gates/call-names.ts";
import { invoke } from "../pipeline/invoke.ts";
import type { UsedArtifacts } from "../pipeline/result-bytes.ts";
import { isFromOutside } from "../pipeline/scoped-history.ts";
import type { Offer, ToolContext } from "../tools/tool.ts";
import type { ChainTerms } from "./chain-options.ts";
import type { Engines } from "./engines.ts";
import type { FrozenScripts } from "./frozen.ts";
import type { Journal } from "./journal.ts";
import type { LiveScripts, ScriptWatch } from "./live-scripts.ts";
import type { ScriptOffer } from "./offer.ts";
import { CallPace } from "./pace.ts";
import type { Replay } from "./replay.ts";
import { lineOf } from "./result.ts";
import { PersonWaits, type TimerRecord } from "./script-timers.ts";

/** The call of `tool_chain` that a script's calls belong to: its first arrival, its key, and what its calls may do. */
export interface ParentCall {
  readonly id: string;
  readonly key: string;
  readonly authority: Authority;
}

/** Makes a child call with the parent's authority. Its key is made of the parent's key and the number. */
export type MakeChild = (
  parent: ParentCall,
  number: number,
  request: { readonly tool: string; readonly action: string; readonly arguments: JsonObject },
) => ToolCall;

/** The parts of the runtime that scripts need. */
export interface ScriptHost {
  readonly parts: Parts;
  readonly makeChild: MakeChild;
  readonly terms: ChainTerms;
  readonly engines: Engines;
  readonly frozen: FrozenScripts;
  readonly live: LiveScripts;
  readonly isShown: (action: Offer) => boolean;
  /** The tools that a script of this caller may call. */
  offer(authority: Pick<Authority, "principal" | "tools">): ScriptOffer;
}

/** The facts of one call of `tool_chain`, the same in every engine that runs its script. */
export interface ScriptFacts {
  readonly host: ScriptHost;
  readonly context: ToolContext;
  readonly caller: Caller;
  readonly parent: ParentCall;
  /** What the result of the script may hold beside its own words. */
  readonly used: UsedArtifacts;
  readonly limits: Limits;
  readonly program: ScriptProgram;
  readonly sourceDigest: string;
  readonly offer: ScriptOffer;
  /** Monotonic clock. The time in engines that could not run the script counts too. */
  readonly begunAt: number;
  /** The part of its time that it used before it was frozen. */
  readonly usedMs: number;
  /** Whether it was in an engine before: it was sent again, or thawed. */
  readonly hasRunBefore: boolean;
  readonly timers: TimerRecord;
  /** Keys of calls with a request that may still be open when the script is over. */
  readonly requests: Set<string>;
}

/** The values of a script's turn in one engine. */
export interface ScriptTurn {
  readonly session: Session;
  readonly journal: Journal;
  readonly watch: ScriptWatch;
  readonly replay: Replay;
  /** Whether its engine can be frozen. Otherwise the script is replayed. */
  readonly freezes: boolean;
  /** Processor time that the script had used before it was frozen. */
  readonly usedCpuMs: number;
}

interface EndedCall {
  readonly asked: AskedCall;
  readonly call: ToolCall;
  readonly outcome: ToolOutcome;
  readonly durationMs: number;
}

const mostFrozenCharacters = 8 * 1024 * 1024;

/** A script's turn in one engine. All its calls go through `call`. */
export class ScriptRun {
  readonly facts: ScriptFacts;
  readonly turn: ScriptTurn;
  readonly pace: CallPace;
  readonly waits = new PersonWaits();
  readonly #caller: Caller;
  readonly #lostBefore: number;
  /** By place: the calls of the batch that are not invoked yet. */
  readonly #made = new Map<number, ToolCall>();
  #askedCharacters = 0;

  constructor(facts: ScriptFacts, turn: ScriptTurn) {
    this.facts = facts;
    this.turn = turn;
    this.pace = new CallPace(this.parts.clock);
    this.#lostBefore = this.parts.ledger.lost;
    const { patience, deadline, approvalWaitMs, progress } = facts.caller;
    this.#caller = {
      ...{ session: turn.session, signal: turn.watch.signal, deadline, approvalWaitMs, progress },
      // A caller that suspends but waits for a while first does the same here: after that time the script freezes.
      patience: patience === "suspend" && approvalWaitMs !== undefined && approvalWaitMs > 0 ? "wait" : patience,
    };
  }

  get parts(): Parts {
    return this.facts.host.parts;
  }

  get journal(): Journal {
    return this.turn.journal;
  }

  get session(): Session {
    return this.turn.session;
  }

  get watch(): ScriptWatch {
    return this.turn.watch;
  }

  /**
   * Makes and numbers the calls of a batch, and compares them with the calls that had those numbers before.
   *
   * @returns the call that is another one; then none of them is invoked
   */
  async beginBatch(calls: readonly AskedCall[]): Promise<AskedCall | undefined> {
    const { replay } = this.turn;
    this.journal.budget.beginBatch();
    this.#askedCharacters = 0;
    const called = calls.filter(({ kind = "call" }) => kind === "call");
    replay.beginBatch(called);
    for (const asked of called) {
      await this.pace.next();
      if (this.watch.stopped !== undefined) return undefined;
      const call = await this.#make(asked);
      this.#made.set(asked.place, call);
      if (!replay.isOther(asked, call)) continue;
      const outcome = await this.#end(call, refuse("idempotency_conflict"));
      this.#note({ asked, call, outcome, durationMs: 0 });
      return asked;
    }
    return undefined;
  }

  /** Whether an answer that the script got may be missing from the record. */
  get isUnrecorded(): boolean {
    return this.parts.ledger.lost !== this.#lostBefore;
  }

  /** Whether the arguments of the batch are larger than what is stored with a frozen script. */
  get asksMuch(): boolean {
    return this.#askedCharacters > mostFrozenCharacters;
  }

  /** Takes a call through every gate. Never throws: a call that was interrupted has an outcome too. */
  async call(asked: AskedCall): Promise<ToolOutcome> {
    const { clock } = this.parts;
    const call = this.#made.get(asked.place) ?? (await this.#make(asked));
    this.#made.delete(asked.place); // it may be large, and the call may wait for a person
    const startedAt = clock.monotonic();
    this.#emit(asked, call);
    this.turn.replay.reach(asked, call);
    const { line } = asked;
    if (line !== undefined) this.journal.begin(asked.place, { callId: this.#rowId(asked, call), line });
    const outcome = this.#suspended(await this.#enter(asked, call));
    if (outcome.status !== "pending") this.waits.end(asked);
    this.#note({ asked, call, outcome, durationMs: clock.monotonic() - startedAt });
    const key = mayHaveRequest(outcome) ? keyOf(call) : undefined;
    if (key !== undefined) this.facts.requests.add(key);
    return outcome;
  }

  /** Makes a call. If its arguments are too large, they are left out and the arguments gate refuses it. */
  async #make(asked: AskedCall): Promise<ToolCall> {
    const { host, offer, parent } = this.facts;
    const number = this.turn.replay.numberOf(asked);
    const target = offer.targetOf(asked);
    const make = (given: JsonObject): ToolCall => host.makeChild(parent, number, { ...target, arguments: given });
    const call = make(asked.arguments);
    this.#askedCharacters += call.text.length;
    await this.pace.next(); // a large value takes long to sort and to count
    const problem = tooLarge(asked, host.terms, call.text);
    return problem === undefined ? call : arrivalOf({ ...make({}), problem });
  }

  async #enter(asked: AskedCall, call: ToolCall): Promise<ToolOutcome> {
    const entering = await this.turn.replay.enter(asked, call, this.parts);
    if (isEnding(entering)) return await this.#end(call, entering);
    if (entering.resumes !== undefined) this.session.spend(); // a re-entry is not counted, and this session has not counted it
    try {
      return await invoke(entering, this.#caller, this.#partsFor(asked));
    } catch {
      // Only the watch's own signal or the caller's deadline gets here, after it was recorded.
      const why = this.watch.stopped === "timeout" ? "timed_out" : "cancelled";
      return refusedOutcome(call.id, "error", refusal(why));
    }
  }

  /** The script's timers stand still from the request for approval until the call runs. */
  #partsFor(asked: AskedCall): Parts {
    const { parts, waits } = this;
    return {
      ...parts,
      consult: (approval) => {
        waits.begin(asked);
        parts.consult?.(approval);
      },
      executor: {
        carryOut: (call, caller) => {
          waits.end(asked);
          return parts.executor.carryOut(call, caller);
        },
      },
    };
  }

  /** Ends a call that is not invoked, with its final event and its line in the trace. */
  async #end(call: ToolCall, end: Ending): Promise<ToolOutcome> {
    const outcome = outcomeOf(call.id, end);
    this.session.spend();
    this.session.note(call, outcome, 0);
    await this.parts.ledger.note(call, end, outcome, 0);
    return outcome;
  }

  /** After the caller's wait the request is still open: the script waits for it frozen. */
  #suspended(outcome: ToolOutcome): ToolOutcome {
    if (this.facts.caller.patience !== "suspend" || outcome.refusal?.code !== "approval_timed_out") return outcome;
    const { details } = outcome.refusal;
    if (!isJsonObject(details) || typeof details["approval_id"] !== "string") return outcome;
    const expiresAt = Date.parse(String(details["expires_at"]));
    const { refusal: _over, ...rest } = outcome;
    return { ...rest, status: "pending", approvalId: details["approval_id"], expiresAt };
  }

  /** The timeline shows the line of the source beside the call, without its arguments. */
  #emit({ place, line }: AskedCall, { id, tool, action }: ToolCall): void {
    const where = line === undefined ? "" : ` at line ${line}`;
    const { context, parent } = this.facts;
    const data = { call_id: id, parent_id: parent.id, tool, action, place, ...(line !== undefined && { line }) };
    context.emit("chain.call", `The script calls ${tool}${where}.`, data);
  }

  /** The id of the call's row: of its first arrival. */
  #rowId(asked: AskedCall, call: ToolCall): string {
    return this.turn.replay.rowIdOf(asked) ?? call.id;
  }

  #note({ asked, call, outcome, durationMs }: EndedCall): void {
    if (outcome.status === "pending") return;
    const { openWorld } = this.parts.tools.find(call.tool, call.action)?.facts ?? {};
    if (isFromOutside(openWorld, outcome)) this.facts.used.openWorld = true;
    const { place, line } = asked;
    this.journal.note(lineOf(call, outcome, { place, durationMs, line, callId: this.#rowId(asked, call) }));
    const { artifact, files = [] } = outcome;
    if (artifact !== undefined)
      this.journal.preview({ artifact, tool: call.tool, ...(line !== undefined && { line }) });
    for (const file of files) this.journal.file({ artifact: file.artifact, mediaType: file.mediaType, put: false });
  }
}

/** Whether the call's request may still be open. */
function mayHaveRequest({ status, refusal: refused }: ToolOutcome): boolean {
  return status === "pending" || (refused !== undefined && openAfter.has(refused.code));
}

const openAfter: ReadonlySet<string> = new Set([
  "approval_timed_out",
  "approval_unavailable",
  "cancelled",
  "timed_out",
]);
