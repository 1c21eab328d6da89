/**
 * A control group around a sandbox's process, where this host lets us make one, which is as root.
 *
 * Why beside the limits of the process and our own look at it ten times a second: what grows by gigabytes in between is
 * stopped by the kernel, and told as what it is.
 */
import { Groups } from "./groups.ts";

let opened: { readonly groups: Groups | undefined } | undefined;

/** Those of this process; made when the first sandbox needs them, taken away when it ends. */
function groupsHere(): Groups | undefined {
  if (opened === undefined) {
    const groups = process.platform === "linux" ? Groups.open(`postern-children-${process.pid}`) : undefined;
    opened = { groups };
    if (groups !== undefined) process.once("exit", () => groups[Symbol.dispose]());
  }
  return opened.groups;
}

export class KernelBounds implements Disposable {
  readonly #groups: Groups;
  readonly #pid: number;
  #allowed: number | undefined;

  private constructor(groups: Groups, pid: number) {
    this.#groups = groups;
    this.#pid = pid;
  }

  /** Of one that has entered its groups by itself. */
  static within(groups: Groups, pid: number): KernelBounds {
    return new KernelBounds(groups, pid);
  }

  /** Undefined where there are none to be had: limits and looks hold all the same. */
  static async around(pid: number): Promise<KernelBounds | undefined> {
    const groups = groupsHere();
    if (groups === undefined) return undefined;
    try {
      await groups.enter(pid);
      return new KernelBounds(groups, pid);
    } catch {
      groups.remove(pid); // it has just ended, or the group is somebody else's to fill
      return undefined;
    }
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
