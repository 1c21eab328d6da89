/** The queue for sandboxes. Owners take turns, and each has a limit, so that no owner waits for long. */
type ProcessOwner = string | undefined;

export interface ProcessRequest<End> {
  readonly owner: ProcessOwner;
  give(child: End): void;
  fail(error: unknown): void;
}

/** Each owner stands in the queue once, with all its requests. A served owner goes to the end. */
export class Shares<End> {
  readonly #most: number;
  readonly #lines = new Map<ProcessOwner, ProcessRequest<End>[]>();
  readonly #held = new Map<ProcessOwner, number>();

  /** @param most sandboxes of the pool */
  constructor(most: number) {
    this.#most = most;
  }

  /** The number of requests that could be served now. */
  get wanted(): number {
    return [...this.#lines].reduce(
      (sum, [owner, line]) => sum + Math.max(0, Math.min(line.length, this.#left(owner))),
      0,
    );
  }

  add(asking: ProcessRequest<End>): void {
    const line = this.#lines.get(asking.owner);
    if (line === undefined) this.#lines.set(asking.owner, [asking]);
    else line.push(asking);
  }

  /** Returns false when it no longer waits. */
  remove(asking: ProcessRequest<End>): boolean {
    const line = this.#lines.get(asking.owner) ?? [];
    const at = line.indexOf(asking);
    if (at < 0) return false;
    line.splice(at, 1);
    if (line.length === 0) this.#lines.delete(asking.owner);
    return true;
  }

  /** The next request. */
  next(isFor: (owner: ProcessOwner) => boolean = () => true): ProcessRequest<End> | undefined {
    for (const [owner, [first]] of this.#lines) if (this.#left(owner) > 0 && isFor(owner)) return first;
    return undefined;
  }

  /** @param asking the request that `next` returned */
  serve(asking: ProcessRequest<End>, child: End): void {
    this.#step(asking.owner);
    this.#held.set(asking.owner, this.#heldBy(asking.owner) + 1);
    asking.give(child);
  }

  refuse(asking: ProcessRequest<End>, error: unknown): void {
    this.#step(asking.owner);
    asking.fail(error);
  }

  /** An owner returned a sandbox. */
  giveBack(owner: ProcessOwner): void {
    const held = this.#heldBy(owner) - 1;
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
  }

  refuseAll(error: unknown): void {
    const all = [...this.#lines.values()].flat();
    this.#lines.clear();
    for (const { fail } of all) fail(error);
  }

  /** Removes the owner's first request and moves the owner to the end. */
  #step(owner: ProcessOwner): void {
    const [, ...rest] = this.#lines.get(owner) ?? [];
    this.#lines.delete(owner);
    if (rest.length > 0) this.#lines.set(owner, rest);
  }

  /** One owner alone never gets all sandboxes, so that the next finds some. If several wait, none gets more than half. */
  #left(owner: ProcessOwner): number {
    const share = this.#lines.size > 1 ? Math.ceil(this.#most / 2) : this.#most - keptFree(this.#most);
    return share - this.#heldBy(owner);
  }

  #heldBy(owner: ProcessOwner): number {
    return this.#held.get(owner) ?? 0;
  }
}

/** An eighth; none of a pool that is too small to share. */
function keptFree(most: number): number {
  return most < 4 ? 0 : Math.ceil(most / 8);
}
