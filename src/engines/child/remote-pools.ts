import { type PoolOptions, SandboxPool } from "./pool.ts";
import type { RemoteEnd } from "./remote-end.ts";

const mebibyte = 1024 * 1024;

/** One pool for each amount of memory, because a remote sandbox gets its memory when it is created. */
export class RemotePools implements AsyncDisposable {
  readonly #open: (mebibytes: number) => Promise<RemoteEnd>;
  readonly #options: PoolOptions;
  readonly #pools = new Map<number, SandboxPool<RemoteEnd>>();

  constructor(open: (mebibytes: number) => Promise<RemoteEnd>, options: PoolOptions) {
    this.#open = open;
    this.#options = options;
  }

  of(bytes: number): SandboxPool<RemoteEnd> {
    const mebibytes = Math.ceil(bytes / mebibyte);
    const known = this.#pools.get(mebibytes);
    if (known !== undefined) return known;
    const pool = new SandboxPool({ start: () => this.#open(mebibytes) }, this.#options);
    this.#pools.set(mebibytes, pool);
    return pool;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool[Symbol.asyncDispose]()));
  }
}
