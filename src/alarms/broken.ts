import type { Clock } from "../calls/clock.ts";
import type { Store } from "../stores/store.ts";
import type { Alarm, AlarmWord } from "./alarms.ts";

export const storeAlarmId = "alm_store_broken";
/** So long no call was refused. */
const quietMs = 60_000;

export interface StoreAlarmOptions {
  readonly store: Pick<Store, "broken">;
  readonly clock: Clock;
  /** Reaches people without the store, each time it is raised and each time it is over. */
  readonly urgent: (type: "alarm.opened" | "alarm.resolved", summary: string) => void;
}

/**
 * The one alarm that cannot be kept: that nothing can be written, or no more. It is here as long as this process is, with
 * people's words on it; that it is over is seen when something was written again.
 */
export class StoreAlarm {
  readonly #options: StoreAlarmOptions;
  #alarm: Alarm | undefined;
  #isTold = false;

  constructor(options: StoreAlarmOptions) {
    this.#options = options;
  }

  /** Whether something that is written now would be news. */
  get isRaised(): boolean {
    return this.#alarm !== undefined && this.#alarm.state !== "resolved";
  }

  /**
   * As it stands: a store that has stopped is broken whether or not a call has come since, and nothing is written until
   * Postern is started anew; one that only refused something may take the next.
   */
  get alarm(): Alarm | undefined {
    const { broken } = this.#options.store;
    if (this.#alarm === undefined && broken !== undefined) this.#open(broken.message);
    return this.#alarm && { ...this.#alarm, data: { stopped: broken !== undefined } };
  }

  /** A call was refused for it. */
  refused(why: string): void {
    const { store, clock, urgent } = this.#options;
    if (this.isRaised && this.#alarm !== undefined)
      this.#alarm = { ...this.#alarm, count: this.#alarm.count + 1, lastSeen: clock.now() };
    else this.#open(store.broken?.message ?? why);
    if (this.#isTold || this.#alarm === undefined) return;
    this.#isTold = true;
    urgent("alarm.opened", this.#alarm.summary);
  }

  /** Something was written. A disk that is nearly full takes one thing and refuses the next: that is not over. */
  works(): void {
    const { store, clock } = this.#options;
    if (!this.isRaised || this.#alarm === undefined || store.broken !== undefined) return;
    if (clock.now() - this.#alarm.lastSeen >= quietMs) this.resolve({ reason: "it is written again" });
  }

  acknowledge(word: Omit<AlarmWord, "at">): void {
    if (this.#alarm?.state !== "open") return;
    this.#alarm = { ...this.#alarm, state: "acked", acked: { ...word, at: this.#options.clock.now() } };
  }

  /** When a call is refused again, it is raised anew. */
  resolve(word: Omit<AlarmWord, "at">): void {
    if (this.#alarm === undefined) return;
    this.#alarm = { ...this.#alarm, state: "resolved", resolved: { ...word, at: this.#options.clock.now() } };
    if (this.#isTold) this.#options.urgent("alarm.resolved", `Over: ${this.#alarm.summary}`);
    this.#isTold = false;
  }

  #open(why: string): void {
    const at = this.#options.clock.now();
    const names = { id: storeAlarmId, kind: "store_broken", key: "store_broken", tenant: "default" };
    const summary = `Nothing can be written, and every call is refused: ${why}`;
    this.#alarm = {
      ...{ ...names, summary, severity: "critical", state: "open", count: 1, firstSeen: at, lastSeen: at, data: {} },
    };
  }
}
