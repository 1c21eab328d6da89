import { type ApprovalRecord, type Clock, messageOf } from "@postern/core";

export type DueStep = "reminder" | "escalation";

/** The next thing that becomes due on an open request. */
export function dueNext({ expiresAt, routed, remindedAt, escalatedAt }: ApprovalRecord): {
  readonly at: number;
  readonly due: DueStep | "expiry";
} {
  const { remindAt = Infinity, escalateAt = Infinity } = routed ?? {};
  const reminder = remindedAt === undefined ? remindAt : Infinity;
  const escalation = escalatedAt === undefined ? escalateAt : Infinity;
  const at = Math.min(reminder, escalation);
  if (at >= expiresAt) return { at: expiresAt, due: "expiry" };
  return { at, due: escalation <= reminder ? "escalation" : "reminder" };
}

interface ExpiryOptions {
  readonly clock: Clock;
  readonly log: (problem: string) => void;
  readonly expire: (approval: ApprovalRecord) => Promise<void>;
  /** Returns the record afterwards. */
  readonly remind: (id: string, due: DueStep) => Promise<ApprovalRecord | undefined>;
}

/** Reminders, escalations and expiry of open requests. Each request has one timer, for what is due next. */
export class Expiry implements Disposable {
  readonly #options: ExpiryOptions;
  readonly #timers = new Map<string, () => void>();
  #closed = false;

  constructor(options: ExpiryOptions) {
    this.#options = options;
  }

  watch(approval: ApprovalRecord): void {
    if (this.#closed || approval.state !== "pending") return;
    const { clock } = this.#options;
    const { id, expiresAt } = approval;
    const next = dueNext(approval);
    const { at, due } = expiresAt <= clock.now() ? { at: expiresAt, due: "expiry" as const } : next;
    this.#timers.get(id)?.();
    const act = (): void => {
      this.#timers.delete(id);
      if (clock.now() < at) {
        this.watch(approval); // a timer has a maximum, and the wall clock may be set back
        return;
      }
      const done = due === "expiry" ? this.#options.expire(approval) : this.#remind(id, due);
      done.catch((error: unknown) => this.#options.log(sentence(id, due, error)));
    };
    this.#timers.set(id, clock.in(Math.max(0, at - clock.now()), act, false));
  }

  forget(id: string): void {
    this.#timers.get(id)?.();
    this.#timers.delete(id);
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  async #remind(id: string, due: DueStep): Promise<void> {
    const approval = await this.#options.remind(id, due);
    if (approval !== undefined) this.watch(approval);
  }
}

function sentence(id: string, due: DueStep | "expiry", error: unknown): string {
  const after = due === "expiry" ? "It counts as expired all the same." : "It still expires on time after a restart.";
  return `The ${due} of \`${id}\` could not be written: ${messageOf(error)}. ${after}`;
}
