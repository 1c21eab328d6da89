import { RuntimeFault } from "../core/fault.ts";
import type { Journal, LineOfCall } from "./journal.ts";
import type { ScriptWatch } from "./watch.ts";

/** A script that runs now, in this process. */
export interface LiveScript {
  readonly chainId: string;
  readonly callId: string;
}

interface LiveEntry {
  readonly script: LiveScript;
  readonly watch: ScriptWatch;
  readonly left: PromiseWithResolvers<void>;
  /** Of its turn in an engine; none before the first. */
  journal?: Journal;
}

/** SPEC 12.3: a script is in here before its engine starts, and out again whatever happened. */
export class LiveScripts implements Disposable {
  readonly #entries = new Map<string, LiveEntry>();
  #closed = false;

  /** @throws RuntimeFault `chain_invalid` for an id that is none, or is running already (case 231) */
  register(script: LiveScript, watch: ScriptWatch): void {
    const { chainId } = script;
    if (!/^chain_[0-9a-f]{32}$/.test(chainId))
      throw new RuntimeFault("chain_invalid", `\`${chainId.slice(0, 80)}\` is no script's id.`);
    if (this.#entries.has(chainId)) throw new RuntimeFault("chain_invalid", `The script \`${chainId}\` runs already.`);
    this.#entries.set(chainId, { script, watch, left: Promise.withResolvers<void>() });
    if (this.#closed) watch.stop("closed");
  }

  /** One that is not there: nothing happens. */
  deregister(chainId: string): void {
    this.#entries.get(chainId)?.left.resolve();
    this.#entries.delete(chainId);
  }

  /**
   * Listed while `body` lasts. Its caller may have left the very same script a moment ago and come back: until that has
   * wound down this one waits, as long as its own watch lets it.
   */
  async during<T>(script: LiveScript, watch: ScriptWatch, body: () => Promise<T>): Promise<T> {
    const { chainId } = script;
    for (let before = this.#entries.get(chainId); before !== undefined; before = this.#entries.get(chainId)) {
      await watch.until(before.left.promise);
      if (watch.stopped !== undefined) return await body();
    }
    this.register(script, watch);
    try {
      return await body();
    } finally {
      this.deregister(chainId);
    }
  }

  /** Its turn in an engine begins: what it calls is told from there on. */
  follow(chainId: string, journal: Journal): void {
    const entry = this.#entries.get(chainId);
    if (entry !== undefined) entry.journal = journal;
  }

  /** Which line made which call, while it runs. */
  linesOf(callId: string): readonly LineOfCall[] {
    const entries = [...this.#entries.values()];
    return entries.find(({ script }) => script.callId === callId)?.journal?.linesOfCalls ?? [];
  }

  get all(): readonly LiveScript[] {
    return [...this.#entries.values()].map(({ script }) => script);
  }

  /** The house closes: whatever runs is stopped, and ends with what it did. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const { watch } of this.#entries.values()) watch.stop("closed");
  }
}
