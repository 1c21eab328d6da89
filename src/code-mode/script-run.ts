import { arrivalOf } from "../core/arrival.ts";
import type { ToolCall } from "../core/call.ts";
import { type Ending, isEnding, outcomeOf, refuse } from "../core/ending.ts";
import { isJsonObject, type JsonObject } from "../core/json.ts";
import { refusedOutcome, type ToolOutcome } from "../core/outcome.ts";
import { refusal } from "../core/refusals.ts";
import type { Caller, Session } from "../core/session.ts";
import { tooLarge } from "../engines/large-arguments.ts";
import type { AskedCall } from "../engines/sandbox.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { keyOf } from "../pipeline/gates/once.ts";
import { invoke } from "../pipeline/invoke.ts";
import type { Budget } from "./budget.ts";
import type { CallPosition, Earlier } from "./earlier.ts";
import { inOrder } from "./in-order.ts";
import type { Journal } from "./journal.ts";
import { Numbering } from "./numbering.ts";
import { CallPace } from "./pace.ts";
import type { ScriptFacts } from "./script-facts.ts";
import { lineOf } from "./trace.ts";
import type { ScriptWatch } from "./watch.ts";

/** A script's turn in one engine. */
export interface ScriptTurn {
  readonly session: Session;
  readonly journal: Journal;
  readonly watch: ScriptWatch;
  readonly earlier: Earlier;
  /** Whether its engine can be frozen; else it is replayed. */
  readonly freezes: boolean;
  /** Processor time that the script had used before it was frozen. */
  readonly usedCpuMs: number;
}

interface EndedChild {
  readonly call: ToolCall;
  readonly outcome: ToolOutcome;
  readonly durationMs: number;
}

const mostFrozenCharacters = 8 * 1024 * 1024;

/** One script on its way through one engine: its budget, its trace, and the one door its calls go through. */
export class ScriptRun {
  readonly session: Session;
  readonly journal: Journal;
  readonly numbering: Numbering;
  readonly watch: ScriptWatch;
  readonly usedCpuMs: number;
  readonly freezes: boolean;
  readonly pace: CallPace;
  readonly facts: ScriptFacts;
  readonly parts: Parts;
  readonly #earlier: Earlier;
  readonly #caller: Caller;
  readonly #lostBefore: number;
  /** By place: the calls of the batch that are not entered yet. */
  readonly #read = new Map<number, ToolCall>();
  #askedCharacters = 0;

  constructor(facts: ScriptFacts, { session, journal, watch, earlier, freezes, usedCpuMs }: ScriptTurn) {
    this.facts = facts;
    this.parts = facts.house.parts;
    this.session = session;
    this.journal = journal;
    this.numbering = new Numbering(journal, earlier);
    this.watch = watch;
    this.#earlier = earlier;
    this.freezes = freezes;
    this.usedCpuMs = usedCpuMs;
    this.pace = new CallPace(this.parts.clock);
    this.#lostBefore = this.parts.ledger.lost;
    const { caller } = facts;
    const { patience, approvalWaitMs } = caller;
    this.#caller = {
      session,
      // Who can come back later but would rather hold the line for a while does that first, and then the script freezes.
      patience: patience === "suspend" && approvalWaitMs !== undefined && approvalWaitMs > 0 ? "wait" : patience,
      signal: watch.signal,
      deadline: caller.deadline,
      approvalWaitMs: caller.approvalWaitMs,
      progress: caller.progress,
    };
  }

  get budget(): Budget {
    return this.journal.budget;
  }

  /**
   * The next calls that a script makes together: read, numbered, and held against what was made under those numbers before.
   *
   * @returns the one that is another one; then none of them is invoked
   */
  async beginBatch(calls: readonly AskedCall[]): Promise<AskedCall | undefined> {
    this.budget.beginBatch();
    this.#askedCharacters = 0;
    this.#read.clear();
    const called = calls.filter(({ kind = "call" }) => kind === "call");
    this.numbering.begin(called);
    for (const asked of called) {
      const others = this.pace.next();
      if (others !== undefined) await others;
      if (this.watch.stopped !== undefined) return undefined;
      const call = await this.#made(asked);
      this.#read.set(asked.place, call);
      if (!this.numbering.isOther(asked, call)) continue;
      const outcome = await this.#answered(call, refuse("idempotency_conflict"));
      this.#note(asked, { call, outcome, durationMs: 0 });
      return asked;
    }
    return undefined;
  }

  /** Of what it was told, something may be missing from the record: it was answered before it was written. */
  get isUnrecorded(): boolean {
    return this.parts.ledger.lost !== this.#lostBefore;
  }

  /** Whether the arguments of what it asks together are more than is put away with a frozen script. */
  get asksMuch(): boolean {
    return this.#askedCharacters > mostFrozenCharacters;
  }

  /** Through every gate. Never throws: a call that was cut short is an outcome too. */
  async call(asked: AskedCall): Promise<ToolOutcome> {
    const { parts } = this;
    const made = this.#read.get(asked.place) ?? (await this.#made(asked));
    this.#read.delete(asked.place); // it may be large, and a person may be waited for
    const startedAt = parts.clock.monotonic();
    const standing = this.numbering.of(asked);
    this.#tell(asked, made);
    this.numbering.reach(asked, made);
    const { line } = asked;
    if (line !== undefined) this.journal.begin(asked.place, { callId: this.#rowId(asked, made), line });
    const outcome = this.#patient(await this.#entered(made, standing));
    this.#note(asked, { call: made, outcome, durationMs: parts.clock.monotonic() - startedAt });
    const key = mayBeAsked(outcome) ? keyOf(made) : undefined;
    if (key !== undefined) this.facts.requests.add(key);
    return outcome;
  }

  /** What is larger than it may be is refused where all arguments are, and nothing of it is kept. */
  async #made(asked: AskedCall): Promise<ToolCall> {
    const { house, offer, parent } = this.facts;
    const { number } = this.numbering.of(asked);
    const target = offer.targetOf(asked);
    const make = (given: JsonObject): ToolCall => house.makeChild(parent, number, { ...target, arguments: given });
    const made = make((await inOrder(asked.arguments, this.pace)) as JsonObject); // it was one
    this.#askedCharacters += made.text.length;
    const problem = tooLarge(asked, house.terms, made.text);
    return problem === undefined ? made : arrivalOf({ ...make({}), problem });
  }

  async #entered(call: ToolCall, standing: CallPosition): Promise<ToolOutcome> {
    const earlier = this.#earlier;
    const entering = earlier.isEmpty ? call : await earlier.enter(call, standing, this.parts);
    if (isEnding(entering)) return await this.#answered(call, entering);
    if (entering.resumes !== undefined) this.session.spend(); // what enters again is not counted, and this session has not yet
    return await this.#outcome(entering);
  }

  /** Told without being invoked: one terminal event and one line of the trace all the same. */
  async #answered(call: ToolCall, end: Ending): Promise<ToolOutcome> {
    const outcome = outcomeOf(call.id, end);
    this.session.spend();
    this.session.note(call, outcome, 0);
    await this.parts.ledger.note(call, end, outcome, 0);
    return outcome;
  }

  /** Held long enough: the request is open still, and the script waits for it frozen. */
  #patient(outcome: ToolOutcome): ToolOutcome {
    if (this.facts.caller.patience !== "suspend" || outcome.refusal?.code !== "approval_timed_out") return outcome;
    const { details } = outcome.refusal;
    if (!isJsonObject(details) || typeof details["approval_id"] !== "string") return outcome;
    const expiresAt = Date.parse(String(details["expires_at"]));
    const { refusal: _over, ...rest } = outcome;
    return { ...rest, status: "pending", approvalId: details["approval_id"], expiresAt };
  }

  async #outcome(call: ToolCall): Promise<ToolOutcome> {
    try {
      return await invoke(call, this.#caller, this.parts);
    } catch {
      // Only the watch's own signal or the caller's deadline gets here, after it was recorded.
      const why = this.watch.stopped === "timeout" ? "timed_out" : "cancelled";
      return refusedOutcome(call.id, "error", refusal(why));
    }
  }

  /** The line of the source that made the call: the timeline shows it beside the call, without its arguments. */
  #tell({ place, line }: AskedCall, { id, tool, action }: ToolCall): void {
    const where = line === undefined ? "" : ` at line ${line}`;
    const { context, parent } = this.facts;
    context.emit("chain.call", `The script calls ${tool}${where}.`, {
      call_id: id,
      parent_id: parent.id,
      tool,
      action,
      place,
      ...(line !== undefined && { line }),
    });
  }

  /** Of the first arrival: what its row is called by. */
  #rowId(asked: AskedCall, made: ToolCall): string {
    return this.#earlier.idOf(this.numbering.of(asked).number) ?? made.id;
  }

  #note(asked: AskedCall, { call, outcome, durationMs }: EndedChild): void {
    if (outcome.status === "pending") return;
    const { place, line } = asked;
    this.journal.note(lineOf(call, outcome, { place, durationMs, line, callId: this.#rowId(asked, call) }));
    const { artifact: kept, files = [] } = outcome;
    if (kept !== undefined)
      this.journal.preview({ artifact: kept, tool: call.tool, ...(line !== undefined && { line }) });
    for (const { artifact, mediaType } of files) this.journal.file({ artifact, mediaType, put: false });
  }
}

/** A person may be asked about it still. */
function mayBeAsked({ status, refusal: refused }: ToolOutcome): boolean {
  return status === "pending" || (refused !== undefined && unanswered.has(refused.code));
}

const unanswered: ReadonlySet<string> = new Set([
  "approval_timed_out",
  "approval_unavailable",
  "cancelled",
  "timed_out",
]);
