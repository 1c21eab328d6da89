import { Arrival } from "../calls/arrival.ts";
import type { Authority, ToolCall } from "../calls/call.ts";
import { isJsonObject, type JsonObject } from "../calls/json.ts";
import { refusedOutcome, type ToolOutcome } from "../calls/outcome.ts";
import { refusal } from "../calls/refusals.ts";
import type { Caller, Session } from "../calls/session.ts";
import { invoke } from "../invoke.ts";
import type { Parts } from "../parts.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { Journal } from "./journal.ts";
import type { ScriptOffer } from "./offer.ts";
import { Pace } from "./pace.ts";
import type { AskedCall } from "./sandbox.ts";
import type { Watch } from "./watch.ts";

/** The row a script's calls hang on: its first arrival, its key, and what its calls may do. */
export interface Parent {
  readonly id: string;
  readonly key: string;
  readonly authority: Authority;
}

/** Makes a child call: the parent's authority, its place in the parent as key. Wired by the runtime. */
export type MakeChild = (
  parent: Parent,
  position: number,
  request: { readonly tool: string; readonly action: string; readonly arguments: JsonObject },
) => ToolCall;

/** By place: the approval a call of the frozen batch waits for. */
export type Waiting = ReadonlyMap<number, string>;

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
  readonly waiting: Waiting;
  /** Processor time that the script had used before it was frozen. */
  readonly usedCpuMs: number;
  readonly callsAtOnce: number;
}

interface Ended {
  readonly call: ToolCall;
  readonly outcome: ToolOutcome;
  readonly durationMs: number;
}

const mostHostCalls = 1000;
const mostPutBytes = 64 * 1024 * 1024;

/** One script on its way through one engine: its budget, its trace, and the one door its calls go through. */
export class ScriptRun {
  readonly session: Session;
  readonly journal: Journal;
  readonly watch: Watch;
  readonly context: ToolContext;
  readonly parts: Parts;
  readonly parent: Parent;
  readonly offer: ScriptOffer;
  readonly usedCpuMs: number;
  readonly callsAtOnce: number;
  readonly pace: Pace;
  readonly #options: ScriptRunOptions;
  readonly #caller: Caller;
  #hostCalls = 0;
  #putBytes = 0;

  constructor(options: ScriptRunOptions) {
    this.#options = options;
    this.session = options.session;
    this.journal = options.journal;
    this.watch = options.watch;
    this.context = options.context;
    this.parts = options.parts;
    this.parent = options.parent;
    this.offer = options.offer;
    this.usedCpuMs = options.usedCpuMs;
    this.callsAtOnce = options.callsAtOnce;
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
    if (putBytes === 0) this.#hostCalls += 1;
    this.#putBytes += putBytes;
    return this.#hostCalls <= mostHostCalls && this.#putBytes <= mostPutBytes;
  }

  /** Through every gate. Never throws: a call that was cut short is an outcome too. */
  async call(asked: AskedCall): Promise<ToolOutcome> {
    const { makeChild, parts } = this.#options;
    const target = this.offer.targetOf(asked);
    const made = makeChild(this.parent, asked.place, { ...target, arguments: asked.arguments });
    const startedAt = parts.clock.monotonic();
    this.#tell(asked, made);
    const outcome = this.#patient(await this.#outcome(await this.#entering(made, asked.place)));
    this.#note(asked, { call: made, outcome, durationMs: parts.clock.monotonic() - startedAt });
    return outcome;
  }

  /**
   * A call whose approval has ended without a yes while the script was frozen goes on as the one it was, and is told so:
   * sent as a new one, it would ask again (DESIGN 3, entering again).
   */
  async #entering(call: ToolCall, place: number): Promise<ToolCall> {
    const id = this.#options.waiting.get(place);
    const approval = id === undefined ? undefined : await this.parts.book.get(id);
    if (approval === undefined || approval.state === "pending" || approval.state === "approved") return call;
    const prior = await this.parts.ledger.find({ key: approval.key });
    if (prior?.approvalId !== approval.id || (prior.state !== "held" && prior.state !== "denied")) return call;
    this.session.spend(); // a call that enters again is not counted, and its count was taken back when it froze
    return new Arrival({ ...call, resumes: approval.key });
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
    const { status, refusal: refused, timedOut, files = [] } = outcome;
    if (status === "pending") return;
    const code = refused?.code;
    this.journal.note({
      place,
      tool: call.tool,
      argumentsDigest: call.digest.slice(0, 16),
      status:
        timedOut === true || code === "timed_out"
          ? "timeout"
          : code === "cancelled"
            ? "cancelled"
            : status === "preview"
              ? "denied"
              : status,
      durationMs,
      callId: outcome.callId,
      ...(line !== undefined && { line }),
      ...(code !== undefined && { code }),
    });
    const { artifact: kept } = outcome;
    if (kept !== undefined)
      this.journal.preview({ artifact: kept, tool: call.tool, ...(line !== undefined && { line }) });
    for (const { artifact, mediaType } of files) this.journal.file({ artifact, mediaType, put: false });
  }
}
