import type { Clock } from "@postern/core";
import type { Store } from "../../store/store.ts";
import type { Alarm, AlarmWord } from "./alarms.ts";

export const storeAlarmId = "alm_store_broken";
/** It closes if no call was refused for so long. */
const quietMs = 60_000;

export interface StoreAlarmOptions {
  readonly store: Pick<Store, "broken">;
  readonly clock: Clock;
  /** Reaches people without the store. */
  readonly urgent: (type: "alarm.opened" | "alarm.resolved", summary: string) => void;
}

/** The one alarm that cannot be stored: the store does not write. It lives in this process, acknowledgements included. */
export class StoreAlarm {
  readonly #options: StoreAlarmOptions;
  #alarm: Alarm | undefined;
  #isReported = false;

  constructor(options: StoreAlarmOptions) {
    this.#options = options;
  }

  /** Whether a successful write may close it. */
  get isRaised(): boolean {
    return this.#alarm !== undefined && this.#alarm.state !== "resolved";
  }

  /** A stopped store is broken even if no call came since. It writes again only after a restart. */
  get alarm(): Alarm | undefined {
    const { broken } = this.#options.store;
    if (this.#alarm === undefined && broken !== undefined) this.#open(broken.message);
    return this.#alarm && { ...this.#alarm, data: { stopped: broken !== undefined } };
  }

  /** After a call was refused. */
  refused(why: string): void {
    const { store, clock, urgent } = this.#options;
    if (this.isRaised && this.#alarm !== undefined)
      this.#alarm = { ...this.#alarm, count: this.#alarm.count + 1, lastSeen: clock.now() };
    else this.#open(store.broken?.message ?? why);
    if (this.#isReported || this.#alarm === undefined) return;
    this.#isReported = true;
    urgent("alarm.opened", this.#alarm.summary);
  }

  /** After a write. A nearly full disk accepts one write and refuses the next, so it closes only after a quiet time. */
  works(): void {
    const { store, clock } = this.#options;
    if (!this.isRaised || this.#alarm === undefined || store.broken !== undefined) return;
    if (clock.now() - this.#alarm.lastSeen >= quietMs) this.resolve({ reason: "it is written again" });
  }

  acknowledge(word: Omit<AlarmWord, "at">): void {
    if (this.#alarm?.state !== "open") return;
    this.#alarm = { ...this.#alarm, state: "acked", acked: { ...word, at: this.#options.clock.now() } };
  }

  resolve(word: Omit<AlarmWord, "at">): void {
    if (this.#alarm === undefined) return;
    this.#alarm = { ...this.#alarm, state: "resolved", resolved: { ...word, at: this.#options.clock.now() } };
    if (this.#isReported) this.#options.urgent("alarm.resolved", `Over: ${this.#alarm.summary}`);
    this.#isReported = false;
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
