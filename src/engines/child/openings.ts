import type { RemoteEnd } from "./remote-end.ts";

/** Remote sandboxes that are being opened. Closing waits for them, and none is used afterwards. */
export class Openings implements AsyncDisposable {
  readonly #underWay = new Set<Promise<RemoteEnd>>();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @throws Error once it is closed */
  check(): void {
    if (this.#isClosed) throw new Error("The sandboxes are closed.");
  }

  async of(opening: Promise<RemoteEnd>): Promise<RemoteEnd> {
    this.#underWay.add(opening);
    try {
      return await opening;
    } finally {
      this.#underWay.delete(opening);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#underWay);
  }
}
