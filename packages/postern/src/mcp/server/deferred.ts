/**
 * Deferred tools: an endpoint lists `tool_search` instead of them, and lists those that a client has found with it. A call
 * by name runs before that too: deferral saves context, and the gates decide.
 */
import type { Json } from "@postern/core";
import type { Runtime } from "../../runtime/api/api.ts";
import type { ProcessMessages } from "../../store/process-messages.ts";
import type { Offer } from "../../tools/tool.ts";
import { idOf } from "../../tools/tool-index.ts";
import { nameHere } from "./offer.ts";
import { callerKey, type RequestSource } from "./request-source.ts";

export const toolSearchName = "tool_search";
/** Callers without a session whose found tools are remembered. */
const mostCallers = 1_000;

/** Those of an endpoint's offers that are deferred. None if another tool has the name of the search. */
export function deferredAmong(offers: readonly Offer[], runtime: Runtime, { server }: RequestSource): readonly Offer[] {
  const deferred = offers.filter(({ deferLoading }) => deferLoading);
  const isTaken = deferred.length > 0 && offers.some((offer) => nameHere(runtime, offer, server) === toolSearchName);
  return isTaken ? [] : deferred;
}

const foundSubject = "mcp.found_tools";

/**
 * What each client has found: for the time of its session, or for a client without one, by its caller and endpoint. Such a
 * client finds it at each process of the store.
 */
export class FoundTools {
  readonly #ofClients = new WeakMap<object, Set<string>>();
  readonly #ofCallers = new Map<string, Set<string>>();
  readonly #processes: ProcessMessages | undefined;

  /** @param grew a caller, as `callerAt` names it, has found more at another process */
  constructor(processes?: ProcessMessages, grew: (caller: string) => void = () => {}) {
    this.#processes = processes;
    const take = (state: Json): void => {
      for (const [caller, tools] of Object.entries(state as Record<string, readonly string[]>)) // this class wrote it
        if (added(this.#of(caller), tools)) grew(caller);
    };
    processes?.hear(foundSubject, take).catch(() => {}); // what was found before the start can be found again
  }

  has(source: RequestSource, offer: Offer): boolean {
    const client = clientOf(source);
    const found = client === undefined ? this.#ofCallers.get(callerAt(source)) : this.#ofClients.get(client);
    return found?.has(idOf(offer)) === true;
  }

  /** Resolves to whether one of them is new, when the other processes are told. */
  async add(source: RequestSource, offers: readonly Offer[]): Promise<boolean> {
    const client = clientOf(source);
    const ids = offers.map(idOf);
    if (client !== undefined) {
      const found = this.#ofClients.get(client) ?? new Set();
      this.#ofClients.set(client, found);
      return added(found, ids);
    }
    if (!added(this.#of(callerAt(source)), ids)) return false;
    const all = () => Object.fromEntries([...this.#ofCallers].map(([caller, found]) => [caller, [...found]]));
    await this.#processes?.tell(foundSubject, all);
    return true;
  }

  #of(caller: string): Set<string> {
    const known = this.#ofCallers.get(caller);
    if (known !== undefined) return known;
    const [oldest] = this.#ofCallers.size < mostCallers ? [] : this.#ofCallers.keys();
    if (oldest !== undefined) this.#ofCallers.delete(oldest);
    const found = new Set<string>();
    this.#ofCallers.set(caller, found);
    return found;
  }
}

function added(found: Set<string>, ids: readonly string[]): boolean {
  const before = found.size;
  for (const id of ids) found.add(id);
  return found.size > before;
}

/** A client of 2026-07-28 over HTTP is no more than its requests. */
function clientOf({ pipes, session }: RequestSource): object | undefined {
  return pipes ?? session;
}

/** Equal for the requests of one caller at one endpoint. */
export function callerAt({ caller, server }: RequestSource): string {
  return `${server ?? ""}\n${callerKey(caller)}`;
}
