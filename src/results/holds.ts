import type { Clock } from "../core/clock.ts";

/** A call reads the artifacts it was let in with at once, or is held, and then its row needs them. */
const useMs = 3_600_000;

/**
 * What keeps an artifact as long as this process lives: it is being written or belongs to an open session (pins), or
 * a caller just learned that it is there. What must outlast the process follows from the rows (store/references.ts).
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

  /** One too many is not owed later. */
  unpin(digest: string): void {
    const pins = this.#pins.get(digest) ?? 0;
    if (pins > 1) this.#pins.set(digest, pins - 1);
    else this.#pins.delete(digest);
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

  /** Also forgets digests that were asked for and never existed. */
  forgetOld(): void {
    for (const digest of [...this.#used.keys()]) this.has(digest);
  }
}
