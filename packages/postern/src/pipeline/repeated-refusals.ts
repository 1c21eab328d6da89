import { type Clock, counted, messageOf, type NotedEvent, type RefusalCode, type ToolCall } from "@postern/core";
import type { Ending } from "../call/ending.ts";
import type { Session } from "../call/session.ts";
import type { Store } from "../store/store.ts";

export interface RepeatedRefusalsOptions {
  readonly store: Pick<Store, "commit">;
  readonly clock: Clock;
  readonly policy: { readonly version: string };
  readonly log: (problem: string) => void;
}

export interface RepeatParts {
  readonly repeated: RepeatedRefusals;
}

interface RefusalCount {
  readonly code: RefusalCode;
  /** The call whose refusal was written as its own event. */
  readonly first: ToolCall;
  calls: number;
}

/** The type of the event that stands for many refusals. */
export const repeatedType = "budget.refused";
const writeEveryMs = 60_000;

/**
 * Refusals of the budget gate, which no budget counts. The first of a session and code has its own event. All later ones
 * are counted, and once a minute one event says how many there were: a caller cannot fill the log with them.
 */
export class RepeatedRefusals implements AsyncDisposable {
  readonly #options: RepeatedRefusalsOptions;
  readonly #seen = new WeakMap<Session, Map<RefusalCode, RefusalCount>>();
  #unwritten = new Set<RefusalCount>();
  #cancelWrite: (() => void) | undefined;

  constructor(options: RepeatedRefusalsOptions) {
    this.#options = options;
  }

  /** Whether the refusal equals an earlier one of its session. Then it is counted and has no event of its own. */
  count(call: ToolCall, end: Ending, session: Session): boolean {
    if (end.uncounted !== true || end.ending !== "refused") return false;
    const { code } = end.refusal;
    const ofSession = this.#seen.get(session) ?? new Map<RefusalCode, RefusalCount>();
    this.#seen.set(session, ofSession);
    const tally = ofSession.get(code);
    if (tally === undefined) {
      ofSession.set(code, { code, first: call, calls: 0 });
      return false;
    }
    tally.calls += 1;
    this.#unwritten.add(tally);
    this.#cancelWrite ??= this.#options.clock.in(writeEveryMs, () => void this.#write(), false);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#write();
    this.#cancelWrite?.();
  }

  /** A count that cannot be written is written with the next one. */
  async #write(): Promise<void> {
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    const tallies = [...this.#unwritten];
    this.#unwritten = new Set();
    for (const tally of tallies) {
      const { calls } = tally;
      tally.calls = 0;
      try {
        await this.#options.store.commit({ write: "note", event: this.#event(tally, calls) }, "committed");
      } catch (error) {
        tally.calls += calls;
        this.#unwritten.add(tally);
        this.#options.log(`${counted(calls, "refused call")} could not be recorded: ${messageOf(error)}`);
      }
    }
  }

  #event({ code, first }: RefusalCount, calls: number): NotedEvent {
    const { principal, runId, traceId } = first.authority;
    return {
      moment: "noted",
      at: this.#options.clock.now(),
      type: repeatedType,
      summary: `${counted(calls, "more call")} of ${principal.agent} refused: ${code}`,
      traceId,
      tenant: principal.tenant,
      principal,
      policyVersion: this.#options.policy.version,
      outcome: "info",
      data: { calls, code, first_call: first.id, run_id: runId },
    };
  }
}
