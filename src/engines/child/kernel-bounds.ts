import type { Groups } from "../../core/system/groups.ts";

/**
 * The control group around a sandbox. What grows by gigabytes between two looks of the host is stopped by the kernel, and
 * reported as that.
 */
export class KernelBounds implements Disposable {
  readonly #groups: Groups;
  readonly #pid: number;
  #allowed: number | undefined;

  /** @param pid of a process that has entered its groups by itself */
  constructor(groups: Groups, pid: number) {
    this.#groups = groups;
    this.#pid = pid;
  }

  /** The kernel takes half a millisecond for it: the same again is not told again. */
  allow(memoryBytes: number): void {
    if (memoryBytes === this.#allowed) return;
    this.#allowed = memoryBytes;
    try {
      this.#groups.bound(this.#pid, memoryBytes);
    } catch {
      // it holds more already, from before: our own look ends it then
    }
  }

  /** Whether the kernel ended it for want of memory. */
  get wasShort(): boolean {
    return this.#groups.wasShort(this.#pid);
  }

  [Symbol.dispose](): void {
    this.#groups.remove(this.#pid);
  }
}
