import { Arrival } from "../calls/arrival.ts";
import type { Authority, ToolCall } from "../calls/call.ts";
import { type Ending, isEnding, outcomeOf, refuse } from "../calls/ending.ts";
import { isJsonObject, type JsonObject } from "../calls/json.ts";
import { refusedOutcome, type ToolOutcome } from "../calls/outcome.ts";
import { refusal } from "../calls/refusals.ts";
import type { Caller, Session } from "../calls/session.ts";
import { keyOf } from "../gates/once.ts";
import { invoke } from "../invoke.ts";
import type { Parts } from "../parts.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { Earlier, Standing } from "./earlier.ts";
import type { Journal } from "./journal.ts";
import { tooLarge } from "./large-arguments.ts";
import { Numbering } from "./numbering.ts";
import type { ScriptOffer } from "./offer.ts";
import { Pace } from "./pace.ts";
import type { AskedCall } from "./sandbox.ts";
import { lineOf } from "./trace.ts";
import type { Watch } from "./watch.ts";

/** The row a script's calls hang on: its first arrival, its key, and what its calls may do. */
export interface Parent {
  readonly id: string;
  readonly key: string;
  readonly authority: Authority;
}

/** Makes a child call: the parent's authority, its number in the parent as key. Wired by the runtime. */
export type MakeChild = (
  parent: Parent,
  number: number,
  request: { readonly tool: string; readonly action: string; readonly arguments: JsonObject },
) => ToolCall;

export interface ScriptRunOptions {
  readonly parts: Parts;
  readonly makeChild: MakeChild;
  readonly parent: Parent;
  readonly session: Session;
  readonly journal: Journal;
  readonly offer: ScriptOffer;
  readonly watch: Watch;
  readonly context: ToolContext;
  readonly caller: Caller;
  readonly earlier: Earlier;
  /** Whether its engine can be frozen; else it is replayed. */
  readonly freezes: boolean;
  /** Processor time that the script had used before it was frozen. */
  readonly usedCpuMs: number;
  readonly callsAtOnce: number;
  /** Of one call, as JSON. */
  readonly argumentBytes: number;
  /** Gets the keys of calls that may have left a request open. */
  readonly requests: Set<string>;
}

interface Ended {
  readonly call: ToolCall;
  readonly outcome: ToolOutcome;
  readonly durationMs: number;
}

export const mostHostCalls = 1000;
export const mostPutBytes: number = 64 * 1024 * 1024;
const mostBroughtBytes = 8 * 1024 * 1024;
const mostFrozenCharacters = 8 * 1024 * 1024;

/** One script on its way through one engine: its budget, its trace, and the one door its calls go through. */
export class ScriptRun {
  readonly session: Session;
  readonly journal: Journal;
  readonly numbering: Numbering;
  readonly watch: Watch;
  readonly context: ToolContext;
  readonly parts: Parts;
  readonly parent: Parent;
  readonly offer: ScriptOffer;
  readonly usedCpuMs: number;
  readonly callsAtOnce: number;
  readonly argumentBytes: number;
  readonly freezes: boolean;
  readonly pace: Pace;
  readonly #options: ScriptRunOptions;
  readonly #caller: Caller;
  readonly #compared = new Map<number, ToolCall>();
  #broughtBytes = 0;
  #askedCharacters = 0;

  constructor(options: ScriptRunOptions) {
    this.#options = options;
    this.numbering = new Numbering(options.journal, options.earlier);
    this.session = options.session;
    this.journal = options.journal;
    this.watch = options.watch;
    this.context = options.context;
    this.parts = options.parts;
    this.parent = options.parent;
    this.offer = options.offer;
    this.usedCpuMs = options.usedCpuMs;
    this.callsAtOnce = options.callsAtOnce;
    this.argumentBytes = options.argumentBytes;
    this.freezes = options.freezes;
    this.pace = new Pace(options.parts.clock);
    const { session, watch, caller } = options;
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

  /** What a script asks of the host costs no budget of calls, and has an end of its own. False: it is over. */
  spendHost(putBytes = 0): boolean {
    const { journal } = this;
    if (putBytes === 0) journal.hostCalls += 1;
    journal.putBytes += putBytes;
    return journal.hostCalls <= mostHostCalls && journal.putBytes <= mostPutBytes;
  }

  /** What goes into a script at once is one frame, made at once. False: it is full, and what comes next is refused. */
  brings(bytes: number): boolean {
    this.#broughtBytes += bytes;
    return this.#broughtBytes <= mostBroughtBytes;
  }

  /**
   * The next calls that a script makes together: numbered, and held against what was made under those numbers before.
   *
   * @returns the one that is another one; then none of them is invoked
   */
  async beginBatch(calls: readonly AskedCall[]): Promise<AskedCall | undefined> {
    this.#broughtBytes = 0;
    this.#askedCharacters = 0;
    this.#compared.clear();
    const called = calls.filter(({ kind = "call" }) => kind === "call");
    this.numbering.begin(called);
    return this.#options.earlier.isEmpty ? undefined : await this.#otherIn(called);
  }

  async #otherIn(called: readonly AskedCall[]): Promise<AskedCall | undefined> {
    for (const asked of called) {
      await this.pace.beforeCall();
      if (this.watch.stopped !== undefined) return undefined;
      const call = this.#made(asked);
      this.#compared.set(asked.place, call);
      if (!this.numbering.isOther(asked, call)) continue;
      const outcome = await this.#answered(call, refuse("idempotency_conflict"));
      this.#note(asked, { call, outcome, durationMs: 0 });
      return asked;
    }
    return undefined;
  }

  /** Whether the arguments of what it asks together are more than is put away with a frozen script. */
  get asksMuch(): boolean {
    return this.#askedCharacters > mostFrozenCharacters;
  }

  /** Through every gate. Never throws: a call that was cut short is an outcome too. */
  async call(asked: AskedCall): Promise<ToolOutcome> {
    const { parts } = this;
    const made = this.#compared.get(asked.place) ?? this.#made(asked);
    const startedAt = parts.clock.monotonic();
    this.#tell(asked, made);
    this.numbering.reach(asked, made);
    const outcome = this.#patient(await this.#entered(made, this.numbering.of(asked)));
    this.#note(asked, { call: made, outcome, durationMs: parts.clock.monotonic() - startedAt });
    const key = mayBeAsked(outcome) ? keyOf(made) : undefined;
    if (key !== undefined) this.#options.requests.add(key);
    return outcome;
  }

  /** What is larger than it may be is refused where all arguments are, and nothing of it is kept. */
  #made(asked: AskedCall): ToolCall {
    const { makeChild } = this.#options;
    const { number } = this.numbering.of(asked);
    const target = this.offer.targetOf(asked);
    const make = (given: JsonObject): ToolCall => makeChild(this.parent, number, { ...target, arguments: given });
    const made = make(asked.arguments);
    this.#askedCharacters += made.text.length;
    const problem = tooLarge(asked, this.argumentBytes, made.text);
    return problem === undefined ? made : new Arrival({ ...make({}), problem });
  }

  async #entered(call: ToolCall, standing: Standing): Promise<ToolOutcome> {
    const { earlier } = this.#options;
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
    if (this.#options.caller.patience !== "suspend" || outcome.refusal?.code !== "approval_timed_out") return outcome;
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
    this.context.emit("chain.call", `The script calls ${tool}${where}.`, {
      call_id: id,
      parent_id: this.parent.id,
      tool,
      action,
      place,
      ...(line !== undefined && { line }),
    });
  }

  #note({ place, line }: AskedCall, { call, outcome, durationMs }: Ended): void {
    if (outcome.status === "pending") return;
    this.journal.note(lineOf(call, outcome, { place, durationMs, line }));
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
