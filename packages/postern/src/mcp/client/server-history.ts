import { type Clock, defined } from "@postern/core";

const mostChanges = 20;

/** A change of the connection to a server. */
export interface ServerChange {
  /** Wall clock, milliseconds. */
  readonly at: number;
  readonly status: "connected" | "disconnected" | "idle";
  readonly problem?: string;
}

/** The last changes of the connection to one server, in this process. */
export class ServerHistory {
  readonly #clock: Clock;
  readonly #changes: ServerChange[] = [];
  #wasConnected = false;
  #restarts = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get changes(): readonly ServerChange[] {
    return [...this.#changes];
  }

  /** How often it was connected again after it was lost. */
  get restarts(): number {
    return this.#restarts;
  }

  /** An attempt that fails again is no change; its problem is the newest. */
  add(status: ServerChange["status"], problem?: string): void {
    const last = this.#changes.at(-1);
    if (status === "connected") {
      if (this.#wasConnected && last?.status === "disconnected") this.#restarts += 1;
      this.#wasConnected = true;
    }
    const isSame = last?.status === status;
    if (isSame) this.#changes.pop();
    this.#changes.push({ at: isSame ? last.at : this.#clock.now(), status, ...defined({ problem }) });
    if (this.#changes.length > mostChanges) this.#changes.shift();
  }
}
