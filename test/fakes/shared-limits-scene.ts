import { FakeClock, settled } from "../../packages/core/src/testing/clock.ts";
import { CallLimits } from "../../packages/postern/src/mcp/client/limits/call-limits.ts";
import { SharedLimits } from "../../packages/postern/src/mcp/client/limits/shared-limits.ts";
import type { ServerConfig } from "../../packages/postern/src/mcp/client/server-config.ts";
import type { UpstreamCall } from "../../packages/postern/src/mcp/client/upstream.ts";
import type { Store } from "../../packages/postern/src/store/store.ts";
import { aLogStore } from "./log-store.ts";
import { sharedDocuments } from "./shared-documents.ts";

/** One gateway of a scene. */
export interface LimitedGateway {
  /** Resolves when the call has ended, after `forMs`; without it, when `end` is called. */
  call(caller?: string, forMs?: number): Promise<void>;
  /** Ends its oldest running call that has no time. */
  end(): Promise<void>;
  /** How many of its calls run. */
  readonly running: number;
  /** How often it asked the store for something. */
  readonly requests: number;
  /** It loses its connection to the store, or gets it back; then it hears of changes three seconds later. */
  cut(isCut: boolean): Promise<void>;
  /** It does nothing any more. */
  kill(): void;
  close(): Promise<void>;
}

export interface LimitsScene {
  readonly clock: FakeClock;
  /** When calls began, in any gateway: milliseconds. */
  readonly starts: number[];
  /** The most calls that ran at a time. */
  readonly most: number;
  readonly problems: string[];
  gateway(id: string): LimitedGateway;
}

/** Gateways on one store whose server has limits. */
export function limitsScene(limits: NonNullable<ServerConfig["limits"]>): LimitsScene {
  const clock = new FakeClock();
  const view = sharedDocuments(aLogStore(clock));
  const leases = new Map<string, { readonly holder: string; readonly until: number }>();
  const starts: number[] = [];
  const problems: string[] = [];
  let running = 0;
  let most = 0;
  const began = (): void => {
    running += 1;
    most = Math.max(most, running);
    starts.push(clock.monotonic());
  };
  const gateway = (id: string): LimitedGateway => {
    let requests = 0;
    let isCut = false;
    let isKilled = false;
    let own = 0;
    const missed: (() => void)[] = [];
    const toEnd: (() => void)[] = [];
    const { commit, documents } = view();
    const reach = async <T>(ask: () => T | Promise<T>): Promise<T> => {
      requests += 1;
      await Promise.resolve();
      if (isKilled) return new Promise(() => undefined);
      if (isCut) throw new Error("the store is away");
      return ask();
    };
    const store: Pick<Store, "commit" | "documents" | "follow" | "leases" | "incarnation"> = {
      incarnation: id,
      commit: (write, durability) => reach(() => commit(write, durability)),
      follow: () => ({ [Symbol.dispose]: () => undefined }),
      documents: {
        get: (kind, document) => reach(() => documents.get(kind, document)),
        list: (kind, prefix) => reach(() => documents.list(kind, prefix)),
        follow: (kind, listener) =>
          documents.follow?.(kind, (...change) => {
            if (isCut) missed.push(() => listener(...change));
            else if (!isKilled) listener(...change);
          }) ?? { [Symbol.dispose]: () => undefined },
      },
      leases: {
        take: (name, forMs) =>
          reach(() => {
            const { holder = id, until = 0 } = leases.get(name) ?? {};
            if (holder !== id && until > clock.monotonic()) return false;
            leases.set(name, { holder: id, until: clock.monotonic() + forMs });
            return true;
          }),
        release: (name) => reach(() => void (leases.get(name)?.holder === id && leases.delete(name))),
      },
    };
    const shared = new SharedLimits({ store, clock, log: (problem) => problems.push(`${id}: ${problem}`) });
    const one = new CallLimits("files", limits, clock, shared);
    const signal = new AbortController().signal;
    return {
      call: (caller = "agent", forMs) => {
        const context: UpstreamCall = {
          caller: () => caller,
          signal,
          idempotencyKey: "k",
          onProgress: () => undefined,
        };
        return one.run("read", context, async () => {
          if (isKilled) return new Promise<void>(() => undefined);
          began();
          own += 1;
          await new Promise<void>((resolve) =>
            forMs === undefined ? void toEnd.push(resolve) : void clock.in(forMs, resolve),
          );
          if (isKilled) return new Promise<void>(() => undefined);
          own -= 1;
          running -= 1;
        });
      },
      end: async () => {
        toEnd.shift()?.();
        await settled();
      },
      get running() {
        return own;
      },
      get requests() {
        return requests;
      },
      cut: async (cut) => {
        isCut = cut;
        const hear = (): void => {
          for (const tell of missed.splice(0)) tell();
        };
        if (!cut) clock.in(3_000, hear);
        await settled();
      },
      kill: () => {
        isKilled = true;
        running -= own;
      },
      close: () => shared[Symbol.asyncDispose](),
    };
  };
  return {
    ...{ clock, starts, problems, gateway },
    get most() {
      return most;
    },
  };
}
