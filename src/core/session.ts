import type { Principal, Risk, ToolCall } from "./call.ts";
import type { Clock } from "./clock.ts";
import type { ProgressSink } from "./event.ts";
import { RuntimeFault } from "./fault.ts";
import { newId } from "./ids.ts";
import type { CallStatus, ToolOutcome } from "./outcome.ts";
import { parseRisk, risks } from "./risk.ts";
import { shown } from "./shown.ts";

/** SPEC 3.9 and D17. A session may narrow what its runtime grants, never widen it. */
export interface Limits {
  readonly maxToolCalls: number;
  readonly callTimeoutMs: number;
  readonly approvalWaitMs: number;
  readonly totalTimeoutMs: number;
  readonly maxInlineResultBytes: number;
  /** Above this a person is asked, where no autonomy level decides (SPEC 6.5). */
  readonly maxRiskUnapproved?: Risk;
}

/** For the calls of a script. */
export const chainLimits: Limits = {
  maxToolCalls: 50,
  callTimeoutMs: 60_000,
  approvalWaitMs: 55_000,
  totalTimeoutMs: 300_000,
  maxInlineResultBytes: 4096,
  maxRiskUnapproved: "safe",
};

/** For agents and clients that call directly (D17). */
export const directLimits: Limits = {
  maxToolCalls: 10_000,
  callTimeoutMs: 600_000,
  approvalWaitMs: 300_000,
  totalTimeoutMs: 3_600_000,
  maxInlineResultBytes: 4096,
};

/** What servers for agents put inline where the operator states no limit: a whole source file, which a model can read at once. */
export const serverInlineBytes: number = 64 * 1024;

/**
 * The limits that an operator sets, over the defaults. The total time grows with a longer call, so that one call with its
 * wait always fits into half of a session (runtime/windows.ts).
 *
 * @throws RuntimeFault `limits_invalid`
 */
export function limitsOf(asked: Partial<Limits> = {}): Limits {
  const limits = checkedLimits({ ...directLimits, ...asked });
  const { callTimeoutMs, approvalWaitMs, totalTimeoutMs } = limits;
  if (asked.totalTimeoutMs !== undefined) return limits;
  return { ...limits, totalTimeoutMs: Math.max(totalTimeoutMs, 2 * (callTimeoutMs + approvalWaitMs)) };
}

const limitNames: ReadonlySet<string> = new Set([...Object.keys(directLimits), "maxRiskUnapproved"]);

/** @throws RuntimeFault `limits_invalid` for an unknown name, and for what is no whole number from 0 (case 59) */
export function checkedLimits<Given extends Partial<Limits>>(limits: Given): Given {
  if (typeof limits !== "object" || limits === null)
    throw new RuntimeFault("limits_invalid", `The limits are ${shown(limits)}; they must be an object.`);
  for (const [name, value] of Object.entries(limits)) {
    if (!limitNames.has(name)) {
      throw new RuntimeFault("limits_invalid", `\`${name}\` is no limit; there are ${[...limitNames].join(", ")}.`);
    }
    if (name === "maxRiskUnapproved" ? value === undefined || parseRisk(value) !== undefined : isCount(value)) continue;
    const wanted = name === "maxRiskUnapproved" ? `one of ${risks.join(", ")}` : "a whole number from 0";
    throw new RuntimeFault("limits_invalid", `\`${name}\` is ${shown(value)}; it must be ${wanted}.`);
  }
  return limits;
}

/** Limits that nobody means: a person is waited for longer than the call itself may take (case 81). */
export function limitsWarning({ approvalWaitMs, callTimeoutMs }: Limits): string | undefined {
  if (approvalWaitMs < callTimeoutMs) return undefined;
  return `\`approvalWaitMs\` (${approvalWaitMs}) is not shorter than \`callTimeoutMs\` (${callTimeoutMs}): a call waits for a person longer than it may run. Make it shorter.`;
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

export interface TraceLine {
  readonly tool: string;
  /** First 16 hex digits of the arguments' SHA-256 (SPEC 3.7). */
  readonly argumentsDigest: string;
  readonly status: CallStatus | "timeout";
  readonly durationMs: number;
}

/** All of a session that outlives its process: what a frozen script carries. */
export interface SessionState {
  /** None: it is made when somebody asks. */
  readonly id?: string;
  readonly limits: Limits;
  readonly calls: number;
  readonly trace: readonly TraceLine[];
  readonly pins: readonly string[];
  /** How much of `totalTimeoutMs` is used; frozen time does not count. */
  readonly usedMs: number;
}

/** Where a session stood. */
export interface SessionMark {
  readonly calls: number;
  readonly lines: number;
  readonly pins: readonly string[];
}

/**
 * A chain's, a client's or an agent's budget, trace and pins. The only mutable thing in `calls/`; belongs to one run.
 * The trace is kept in columns, and lines are made when it is read: a session of 10,000 calls stays a few arrays.
 */
export class Session {
  readonly limits: Limits;
  readonly #clock: Clock;
  readonly #openedAt: number;
  #id: string | undefined;
  #calls: number;
  #closed = false;
  readonly #tools: string[] = [];
  readonly #digests: string[] = [];
  readonly #statuses: TraceLine["status"][] = [];
  readonly #durations: number[] = [];
  readonly #pins: Set<string>;
  readonly #afterwards: (() => void)[] = [];

  constructor(limits: Limits, clock: Clock, state?: SessionState) {
    this.limits = limits;
    this.#clock = clock;
    this.#openedAt = clock.monotonic() - (state?.usedMs ?? 0);
    this.#id = state?.id;
    this.#calls = state?.calls ?? 0;
    this.#pins = new Set(state?.pins);
    for (const line of state?.trace ?? []) this.#push(line.tool, line.argumentsDigest, line.status, line.durationMs);
  }

  /** Its name while this process lives; made when somebody first asks. */
  get id(): string {
    this.#id ??= newId("ses");
    return this.#id;
  }

  get callCount(): number {
    return this.#calls;
  }

  /** A copy: changing it changes nothing (case 62). */
  get trace(): readonly TraceLine[] {
    return this.#tools.map((tool, i) => ({
      tool,
      argumentsDigest: (this.#digests[i] ?? "").slice(0, 16),
      status: this.#statuses[i] ?? "error",
      durationMs: this.#durations[i] ?? 0,
    }));
  }

  get pins(): readonly string[] {
    return [...this.#pins];
  }

  get hasPins(): boolean {
    return this.#pins.size > 0;
  }

  /** Whoever takes them gives them back to the store: nobody else will. */
  takePins(): readonly string[] {
    const pins = [...this.#pins];
    this.#pins.clear();
    return pins;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** What is left of the total time, in milliseconds; never negative. */
  remainingMs(now: number = this.#clock.monotonic()): number {
    return Math.max(0, this.limits.totalTimeoutMs - (now - this.#openedAt));
  }

  /** False when the budget is used up. Synchronous: parallel calls cannot both take the last one. */
  spend(): boolean {
    if (this.#calls >= this.limits.maxToolCalls) return false;
    this.#calls += 1;
    return true;
  }

  note(call: ToolCall, outcome: ToolOutcome, durationMs: number): void {
    this.#push(call.tool, call.digest, outcome.timedOut === true ? "timeout" : outcome.status, durationMs);
  }

  pin(digest: string): void {
    this.#pins.add(digest);
  }

  close(): void {
    this.#closed = true;
    for (const then of this.#afterwards.splice(0)) then();
  }

  /** Called once, when it is closed: at once, when it is. */
  afterwards(then: () => void): void {
    if (this.#closed) then();
    else this.#afterwards.push(then);
  }

  get usedMs(): number {
    return this.limits.totalTimeoutMs - this.remainingMs();
  }

  /** For a later `freeze`: its trace only grows, so that nothing of it is copied while a script goes on. */
  mark(): SessionMark {
    return { calls: this.#calls, lines: this.#tools.length, pins: this.pins };
  }

  /** As it was at the mark, but for the time that passed since. */
  freeze({ calls, lines, pins }: SessionMark): SessionState {
    return { limits: this.limits, calls, trace: this.trace.slice(0, lines), pins, usedMs: this.usedMs };
  }

  #push(tool: string, digest: string, status: TraceLine["status"], durationMs: number): void {
    this.#tools.push(tool);
    this.#digests.push(digest);
    this.#statuses.push(status);
    this.#durations.push(durationMs);
  }
}

/** What to do when a person is needed: nobody to ask, hold the line for a while, or come back later (SPEC 8.7). */
export type Patience = "deny" | "wait" | "suspend";

export function isPatience(value: unknown): value is Patience {
  return value === "deny" || value === "wait" || value === "suspend";
}

/** Who is waiting for this call, in this process, now. Never stored, never shipped. */
export interface Caller {
  readonly session: Session;
  readonly patience: Patience;
  readonly signal?: AbortSignal | undefined;
  /** Monotonic milliseconds; the call is over then, as if cancelled. */
  readonly deadline?: number | undefined;
  /** How long this caller waits for a person, when shorter than the session's limit. */
  readonly approvalWaitMs?: number | undefined;
  /** Hears of this call, and of the calls it makes. */
  readonly progress?: ProgressSink | undefined;
  /** The agent's own word on why it calls, for a person to read. */
  readonly reason?: string | undefined;
  /** Who asks that a recorded call goes on; none: whoever holds the runtime. */
  readonly asker?: Principal | undefined;
  /** The caller asks for less than it was granted: there would be somebody to ask. */
  readonly asksNobody?: boolean;
}
