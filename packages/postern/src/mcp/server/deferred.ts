/**
 * Deferred tools: an endpoint lists `tool_search` instead of them, and lists those that a client has found with it. A call
 * by name runs before that too: deferral saves context, and the gates decide.
 */
import type { Runtime } from "../../runtime/api/api.ts";
import type { Offer } from "../../tools/tool.ts";
import { nameHere } from "./offer.ts";
import { callerKey, type RequestSource } from "./request-source.ts";
import { idOf } from "./tool-index.ts";

export const toolSearchName = "tool_search";
/** Callers without a session whose found tools are remembered. */
const mostCallers = 1_000;

/** Those of an endpoint's offers that are deferred. None if another tool has the name of the search. */
export function deferredAmong(offers: readonly Offer[], runtime: Runtime, { server }: RequestSource): readonly Offer[] {
  const deferred = offers.filter(({ deferLoading }) => deferLoading);
  const isTaken = deferred.length > 0 && offers.some((offer) => nameHere(runtime, offer, server) === toolSearchName);
  return isTaken ? [] : deferred;
}

/** What each client has found: for the time of its session, or for a client without one, by its caller and endpoint. */
export class FoundTools {
  readonly #ofClients = new WeakMap<object, Set<string>>();
  readonly #ofCallers = new Map<string, Set<string>>();

  has(source: RequestSource, offer: Offer): boolean {
    return this.#of(source)?.has(idOf(offer)) === true;
  }

  /** Returns whether one of them is new. */
  add(source: RequestSource, offers: readonly Offer[]): boolean {
    const found = this.#of(source) ?? this.#begin(source);
    const before = found.size;
    for (const offer of offers) found.add(idOf(offer));
    return found.size > before;
  }

  #of(source: RequestSource): Set<string> | undefined {
    const client = clientOf(source);
    return client === undefined ? this.#ofCallers.get(callerAt(source)) : this.#ofClients.get(client);
  }

  #begin(source: RequestSource): Set<string> {
    const found = new Set<string>();
    const client = clientOf(source);
    if (client !== undefined) {
      this.#ofClients.set(client, found);
      return found;
    }
    const [oldest] = this.#ofCallers.size < mostCallers ? [] : this.#ofCallers.keys();
    if (oldest !== undefined) this.#ofCallers.delete(oldest);
    this.#ofCallers.set(callerAt(source), found);
    return found;
  }
}

/** A client of 2026-07-28 over HTTP is no more than its requests. */
function clientOf({ pipes, session }: RequestSource): object | undefined {
  return pipes ?? session;
}

/** Equal for the requests of one caller at one endpoint. */
export function callerAt({ caller, server }: RequestSource): string {
  return `${server ?? ""}\n${callerKey(caller)}`;
}
