/** The event loop, as far as shares of it depend on it. */
export interface LoopView {
  /** Milliseconds that only grow. */
  now(): number;
  /** Milliseconds for which the loop has slept, all its sleeps together. */
  sleptMs(): number;
  /** Has this done in the next turn of the loop, in the order in which it was said. */
  next(work: () => void): void;
  /** Has this done after so many milliseconds, a whole number. @returns takes that back */
  later(work: () => void, ms: number): () => void;
}

/** On a loop that is busy, so much lies between the beginnings of two hurried pieces, whosever they are. */
const spacingMs = 1;
/** A loop that has slept so long since the last one is not busy. */
const sleptEnoughMs = 0.02;
/** For each moment of the loop that idle work takes, others have so many, where they want them. */
const momentsOfOthers = 39;
/** A turn of the loop in which nobody does anything takes a few microseconds. */
const emptyTurnMs = 0.05;
/** With so many in a row the loop is idle: what others do in several steps has short turns among them. */
const emptyTurns = 4;
/** With so many in which others did something, since the last idle piece or the last rest, the loop is taken to stay busy. */
const busyTurns = 4;
/** The loop is left alone for so long at most: it may have become idle meanwhile. */
const restMs = 5;

/**
 * Turns of the loop for work that leaves others room: one piece of a kind at a time, in the order in which they were asked for,
 * and at once or nearly so where the loop is idle. Keep a piece short: whoever comes meanwhile waits for all of it.
 *
 * The loop is looked at once a turn while something waits, and not at all while nothing does, nor while it stays busy and no share
 * is due: a look costs whoever has the loop a few microseconds in each turn.
 */
export class LoopShares {
  readonly #loop: LoopView;
  readonly #hurried: (() => void)[] = [];
  readonly #idle: ((isIdle: boolean) => void)[] = [];
  #isLooking = false;
  /** Ends the rest in which the loop is not looked at. */
  #endRest: (() => void) | undefined;
  #lookedAt = 0;
  /** Turns in a row, up to the last look, in which nobody did anything. */
  #empty = 0;
  /** Turns in which others did something. */
  #busy = 0;
  /** The idle piece that comes next has its turn because nobody wants it. */
  #isIdle = false;
  /** When the last hurried piece began, and how long the loop had slept until then. */
  #hurriedAt = Number.NEGATIVE_INFINITY;
  #sleptBefore = 0;
  /** When the last idle piece ended, and from when on others have had their share for it. */
  #idleEndedAt = 0;
  #idleDueAt = 0;
  /** In the turn behind an idle piece comes what it had put off, a commit above all: that counts as its own, up to as long again. */
  #putOffMs = 0;

  constructor(loop: LoopView) {
    this.#loop = loop;
  }

  /** Milliseconds that only grow. */
  get now(): number {
    return this.#loop.now();
  }

  /**
   * For a short piece that is in a hurry and comes often: at once (undefined) where the loop is idle, and where it is busy one in
   * a millisecond, so that nobody's work meets two of them.
   */
  hurriedTurn(): Promise<void> | undefined {
    const now = this.#loop.now();
    if (this.#hurried.length === 0) {
      const slept = this.#loop.sleptMs();
      if (now - this.#hurriedAt >= spacingMs || slept - this.#sleptBefore >= sleptEnoughMs) {
        this.#hurriedBegins(now, slept);
        return undefined;
      }
    }
    return this.#waitIn(this.#hurried);
  }

  /**
   * For a piece that gives way to all else in this process: where the loop is busy all of them together have a fortieth of it,
   * what they put off included, and never less than an eightieth.
   *
   * @returns whether it came because the loop is idle
   */
  idleTurn(): Promise<boolean> {
    return this.#waitIn(this.#idle);
  }

  #waitIn<Told>(queue: ((told: Told) => void)[]): Promise<Told> {
    return new Promise((resolve) => {
      queue.push(resolve);
      if (this.#hurried.length > 0) this.#endRest?.();
      if (!this.#isLooking) this.#beginToLook();
    });
  }

  readonly #beginToLook = (): void => {
    this.#endRest = undefined;
    this.#isLooking = true;
    this.#empty = 0;
    this.#busy = 0;
    this.#lookedAt = this.#loop.now();
    this.#loop.next(this.#look);
  };

  readonly #look = (): void => {
    const now = this.#loop.now();
    const isEmpty = now - this.#lookedAt < emptyTurnMs;
    this.#empty = isEmpty ? this.#empty + 1 : 0;
    this.#busy += isEmpty ? 0 : 1;
    this.#lookedAt = now;
    this.#idleDueAt += (1 + momentsOfOthers) * Math.min(now - this.#idleEndedAt, this.#putOffMs);
    this.#putOffMs = 0;
    const isIdle = this.#empty >= emptyTurns;
    if (this.#hurried.length > 0 && (isIdle || now - this.#hurriedAt >= spacingMs)) {
      this.#hurriedBegins(now, this.#loop.sleptMs());
      this.#hurried.shift()?.();
    }
    if (this.#idle.length > 0 && (isIdle || now >= this.#idleDueAt)) {
      this.#isIdle = isIdle;
      this.#loop.next(this.#idlePiece); // two of the same turn: what the first lets begin is over when the second is called
      this.#loop.next(this.#idlePieceEnded);
    } else this.#lookOn();
  };

  #lookOn(): void {
    this.#isLooking = this.#hurried.length > 0 || this.#idle.length > 0;
    if (!this.#isLooking) return;
    const untilDueMs = Math.floor(this.#idleDueAt - this.#lookedAt);
    if (this.#hurried.length > 0 || this.#busy < busyTurns || untilDueMs < 1) this.#loop.next(this.#look);
    else this.#rest(Math.min(restMs, untilDueMs));
  }

  #rest(ms: number): void {
    const takeBack = this.#loop.later(this.#beginToLook, ms);
    this.#endRest = () => {
      takeBack();
      this.#beginToLook();
    };
  }

  #hurriedBegins(now: number, sleptMs: number): void {
    this.#hurriedAt = now;
    this.#sleptBefore = sleptMs;
    this.#empty = 0;
  }

  readonly #idlePiece = (): void => {
    this.#lookedAt = this.#loop.now();
    this.#idle.shift()?.(this.#isIdle);
  };

  readonly #idlePieceEnded = (): void => {
    const now = this.#loop.now();
    this.#putOffMs = now - this.#lookedAt;
    this.#idleDueAt = now + momentsOfOthers * this.#putOffMs;
    this.#idleEndedAt = now;
    this.#lookedAt = now;
    this.#empty = 0;
    this.#busy = 0;
    this.#lookOn();
  };
}

/** So long is one piece of idle work, and a step. */
export const idlePieceMs = 0.05;

/** Idle work of many short steps: as many of them are one piece as fit into it. */
export class IdleSteps {
  readonly #shares: LoopShares;
  #begunAt = Number.NEGATIVE_INFINITY;

  constructor(shares: LoopShares) {
    this.#shares = shares;
  }

  /** Between two steps. Undefined: the piece goes on. */
  next(): Promise<void> | undefined {
    return this.#shares.now - this.#begunAt < idlePieceMs ? undefined : this.#begin();
  }

  async #begin(): Promise<void> {
    await this.#shares.idleTurn();
    this.#begunAt = this.#shares.now;
  }
}

/** Of the loop of this process: all who give way do so to the same others. */
export const loopShares: LoopShares = new LoopShares({
  now: () => performance.now(),
  sleptMs: () => performance.nodeTiming.idleTime,
  next: (work) => setImmediate(work),
  later: (work, ms) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
});
