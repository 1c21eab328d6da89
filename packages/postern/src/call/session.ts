import {
  type CallStatus,
  type Clock,
  insteadOf,
  type JsonObject,
  newId,
  type Principal,
  type ProgressSink,
  parseRisk,
  type Risk,
  RuntimeFault,
  shown,
  type ToolCall,
  type ToolOutcome,
} from "@postern/core";
import type { ClientOfCall } from "./client-of-call.ts";

/** A session can only narrow the limits of its runtime. */
export interface Limits {
  readonly maxToolCalls: number;
  readonly callTimeoutMs: number;
  readonly approvalWaitMs: number;
  readonly totalTimeoutMs: number;
  readonly maxInlineResultBytes: number;
  /** Calls above this risk need approval, unless an autonomy level decides. */
  readonly maxRiskUnapproved?: Risk;
}

/** Limits for the calls of a script. */
export const chainLimits: Limits = {
  maxToolCalls: 50,
  callTimeoutMs: 60_000,
  approvalWaitMs: 55_000,
  totalTimeoutMs: 300_000,
  maxInlineResultBytes: 4096,
  maxRiskUnapproved: "safe",
};

/** Limits for agents and clients that call directly. */
export const directLimits: Limits = {
  maxToolCalls: 10_000,
  callTimeoutMs: 600_000,
  approvalWaitMs: 300_000,
  totalTimeoutMs: 3_600_000,
  maxInlineResultBytes: 4096,
};

/** Inline limit of servers for agents, in bytes, if the operator sets none: room for a whole source file. */
export const serverInlineBytes: number = 64 * 1024;

/**
 * The limits of the operator over the defaults. The total time grows with longer calls: one call with its wait always
 * fits into half of a session (runtime/services/windows.ts).
 *
 * @throws RuntimeFault `options_invalid`
 */
export function limitsOf(asked: Partial<Limits> = {}): Limits {
  const limits = checkedLimits({ ...directLimits, ...asked });
  const { callTimeoutMs, approvalWaitMs, totalTimeoutMs } = limits;
  if (asked.totalTimeoutMs !== undefined) return limits;
  return { ...limits, totalTimeoutMs: Math.max(totalTimeoutMs, 2 * (callTimeoutMs + approvalWaitMs)) };
}

const limitNames: ReadonlySet<string> = new Set([...Object.keys(directLimits), "maxRiskUnapproved"]);

/** @throws RuntimeFault `options_invalid` for an unknown name, or a value that is not a whole number from 0 */
export function checkedLimits<Given extends Partial<Limits>>(limits: Given): Given {
  if (typeof limits !== "object" || limits === null)
    throw new RuntimeFault("options_invalid", `The limits are ${shown(limits)}; they must be an object.`);
  for (const [name, value] of Object.entries(limits)) {
    if (!limitNames.has(name)) {
      throw new RuntimeFault("options_invalid", `\`${name}\` is not a limit; there are ${[...limitNames].join(", ")}.`);
    }
    if (name === "maxRiskUnapproved" ? value === undefined || parseRisk(value) !== undefined : isCount(value)) continue;
    const fix = name === "maxRiskUnapproved" ? insteadOf(value) : "it must be a whole number from 0";
    throw new RuntimeFault("options_invalid", `\`${name}\` is ${shown(value)}; ${fix}.`);
  }
  return limits;
}

/** Warns of limits where a call waits for a person longer than it may run. */
export function limitsWarning({ approvalWaitMs, callTimeoutMs }: Limits): string | undefined {
  if (approvalWaitMs < callTimeoutMs) return undefined;
  return `\`approvalWaitMs\` (${approvalWaitMs}) is not shorter than \`callTimeoutMs\` (${callTimeoutMs}): a call waits for a person longer than it may run. Make it shorter.`;
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

export interface TraceLine {
  readonly tool: string;
  /** First 16 hex digits of the arguments' SHA-256. */
  readonly argumentsDigest: string;
  readonly status: CallStatus | "timeout";
  readonly durationMs: number;
}

/** The part of a session that is stored with a frozen script. */
export interface SessionState {
  /** Undefined until it is first used. */
  readonly id?: string;
  readonly limits: Limits;
  readonly calls: number;
  readonly trace: readonly TraceLine[];
  readonly pins: readonly string[];
  /** The used part of `totalTimeoutMs`. Frozen time does not count. */
  readonly usedMs: number;
}

/** The state of a session at one moment. */
export interface SessionMark {
  readonly calls: number;
  readonly lines: number;
  readonly pins: readonly string[];
}

/**
 * Budget, trace and pinned artifacts of a script, a client or an agent. It is mutable and belongs to one run.
 * The trace is kept in columns, so 10,000 calls are a few arrays; lines are made when it is read.
 */
export class Session {
  readonly limits: Limits;
  readonly #clock: Clock;
  readonly #within: Session | undefined;
  readonly #openedAt: number;
  #id: string | undefined;
  #calls: number;
  #closed = false;
  readonly #tools: string[] = [];
  readonly #digests: string[] = [];
  readonly #statuses: TraceLine["status"][] = [];
  readonly #durations: number[] = [];
  readonly #pins: Set<string>;
  readonly #onClose: (() => void)[] = [];

  /** @param within the session whose budget, name and pins it shares; it can only have narrower limits */
  constructor(limits: Limits, clock: Clock, state?: SessionState, within?: Session) {
    this.limits = limits;
    this.#within = within;
    this.#clock = clock;
    this.#openedAt = clock.monotonic() - (state?.usedMs ?? 0);
    this.#id = state?.id;
    this.#calls = state?.calls ?? 0;
    this.#pins = within === undefined ? new Set(state?.pins) : within.#pins;
    within?.onClose(() => this.close());
    for (const line of state?.trace ?? []) this.#push(line.tool, line.argumentsDigest, line.status, line.durationMs);
  }

  /** The session's name in this process. It is made when it is first used. */
  get id(): string {
    this.#id ??= this.#within?.id ?? newId("ses");
    return this.#id;
  }

  get callCount(): number {
    return this.#calls;
  }

  /** A copy. */
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

  /** Removes and returns the pins; the caller must release them in the artifact store. */
  takePins(): readonly string[] {
    const pins = [...this.#pins];
    this.#pins.clear();
    return pins;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** The rest of the total time, in milliseconds; never negative. */
  remainingMs(now: number = this.#clock.monotonic()): number {
    const left = Math.max(0, this.limits.totalTimeoutMs - (now - this.#openedAt));
    return this.#within === undefined ? left : Math.min(left, this.#within.remainingMs(now));
  }

  /** Returns the limits that are used up, if any. Synchronous, so two parallel calls cannot both take the last place. */
  spend(): Limits | undefined {
    if (this.#calls >= this.limits.maxToolCalls) return this.limits;
    const empty = this.#within?.spend();
    if (empty === undefined) this.#calls += 1;
    return empty;
  }

  note(call: ToolCall, outcome: ToolOutcome, durationMs: number): void {
    this.#push(call.tool, call.digest, outcome.timedOut === true ? "timeout" : outcome.status, durationMs);
    this.#within?.note(call, outcome, durationMs);
  }

  pin(digest: string): void {
    this.#pins.add(digest);
  }

  close(): void {
    this.#closed = true;
    for (const then of this.#onClose.splice(0)) then();
  }

  /** Calls `then` once when the session closes, or at once if it is closed. */
  onClose(then: () => void): void {
    if (this.#closed) then();
    else this.#onClose.push(then);
  }

  get usedMs(): number {
    return this.limits.totalTimeoutMs - this.remainingMs();
  }

  /** The state now, for a later `freeze`. The trace only grows, so nothing is copied. */
  mark(): SessionMark {
    return { calls: this.#calls, lines: this.#tools.length, pins: this.pins };
  }

  /** The state at the mark, with the time used until now. */
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

/** What to do if a call needs approval: `deny` refuses, `wait` waits a while, `suspend` answers `pending`. */
export type Patience = (typeof patiences)[number];
export const patiences = ["deny", "wait", "suspend"] as const;

export function isPatience(value: unknown): value is Patience {
  return patiences.some((patience) => patience === value);
}

/** The caller that waits for this call in this process. Never stored. */
export interface Caller {
  readonly session: Session;
  readonly patience: Patience;
  readonly signal?: AbortSignal | undefined;
  /** Monotonic milliseconds; the call is then cancelled. */
  readonly deadline?: number | undefined;
  /** How long this caller waits for a person, in milliseconds, if shorter than the session's limit. */
  readonly approvalWaitMs?: number | undefined;
  /** Receives the progress of this call and of its child calls. */
  readonly progress?: ProgressSink | undefined;
  /** The agent's own reason for the call, for a person to read. */
  readonly reason?: string | undefined;
  /** What an MCP client sent beside the arguments: upstream servers receive it. It is not recorded. */
  readonly requestMeta?: JsonObject | undefined;
  /** The MCP client that waits for this call: upstream servers may ask it. */
  readonly client?: ClientOfCall | undefined;
  /** The caller that resumes a recorded call. Undefined for the program that owns the runtime. */
  readonly asker?: Principal | undefined;
  /** The caller chose `deny` although there is an approver. */
  readonly choseDeny?: boolean;
  /** It came when Postern stopped already. Children of a running call do not. */
  readonly isLate?: boolean;
}
