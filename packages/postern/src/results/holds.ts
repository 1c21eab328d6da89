import type { Clock } from "@postern/core";

/** A call reads its artifacts soon after it may, or it is held, and then its row needs them. */
const useMs = 3_600_000;

/**
 * Reasons to keep an artifact while this process lives: it is being written, it belongs to an open session (pins), or a
 * caller just asked whether it may use it. What must survive the process follows from the rows (store/references.ts).
 */
export class ArtifactHolds {
  readonly #clock: Clock;
  readonly #pins = new Map<string, number>();
  /** Monotonic milliseconds. */
  readonly #used = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  pin(digest: string): void {
    this.#pins.set(digest, (this.#pins.get(digest) ?? 0) + 1);
  }

  /** A surplus `unpin` has no effect. */
  unpin(digest: string): void {
    const pins = this.#pins.get(digest) ?? 0;
    if (pins > 1) this.#pins.set(digest, pins - 1);
    else this.#pins.delete(digest);
  }

  get pinned(): readonly string[] {
    return [...this.#pins.keys()];
  }

  use(digest: string): void {
    this.#used.set(digest, this.#clock.monotonic());
  }

  has(digest: string): boolean {
    if (this.#pins.has(digest)) return true;
    const usedAt = this.#used.get(digest);
    if (usedAt === undefined) return false;
    if (this.#clock.monotonic() - usedAt < useMs) return true;
    this.#used.delete(digest);
    return false;
  }

  /** Also removes digests that never existed. */
  forgetOld(): void {
    for (const digest of [...this.#used.keys()]) this.has(digest);
  }
}
