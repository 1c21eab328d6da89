import { isJsonObject, type JsonObject, shown } from "@postern/core";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { metaKeys } from "../protocol/revisions.ts";
import type { RequestSource } from "./request-source.ts";

const atMost = 1_024;

/** What changed: a list, or one resource. */
export type ListenedChange =
  | { readonly list: "tools" | "prompts" | "resources" }
  | { readonly uri: string; readonly params: JsonObject };

interface Subscriber {
  readonly source: RequestSource;
  readonly wanted: JsonObject;
  readonly tell: (method: string, params: JsonObject) => void;
  readonly end: () => void;
}

export interface ListenRequest {
  readonly id: string | number;
  readonly params: JsonObject;
  readonly source: RequestSource;
  readonly signal: AbortSignal;
  tell(method: string, params: JsonObject): void;
}

/** `subscriptions/listen` of revision 2026-07-28: requests that stay open and are told what changes. */
export class Subscriptions {
  readonly #open = new Set<Subscriber>();

  /**
   * Resolves when the request is over.
   *
   * @param capabilities of this server: what it does not declare cannot be listened to
   * @throws RpcFault for a wrong filter, or when too many listen
   */
  async listen({ id, params, source, signal, tell }: ListenRequest, capabilities: JsonObject): Promise<JsonObject> {
    const { notifications } = params;
    if (!isJsonObject(notifications) || !isFilter(notifications))
      throw new RpcFault(
        rpcCodes.invalidParams,
        `\`notifications\` of \`subscriptions/listen\` is ${shown(notifications)}; it must be an object that names what to listen to.`,
      );
    if (this.#open.size >= atMost)
      throw new RpcFault(rpcCodes.internal, `${atMost} requests listen already; end some and try again.`);
    const wanted = honored(notifications, capabilities);
    const marked = { _meta: { [metaKeys.subscriptionId]: id } };
    tell("notifications/subscriptions/acknowledged", { notifications: wanted, ...marked });
    if (Object.keys(wanted).length === 0) return marked;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const subscriber: Subscriber = {
      ...{ source, wanted, end: resolve },
      tell: (method, given) => tell(method, { ...given, ...marked }),
    };
    this.#open.add(subscriber);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await ended;
    this.#open.delete(subscriber);
    return marked;
  }

  /** @param isMeant whether a change concerns the endpoint and the caller of a subscriber */
  tell(change: ListenedChange, isMeant: (source: RequestSource) => boolean = () => true): void {
    for (const { source, wanted, tell } of this.#open) {
      if (!isMeant(source)) continue;
      if ("list" in change) {
        if (wanted[`${change.list}ListChanged`] === true) tell(`notifications/${change.list}/list_changed`, {});
      } else if ((wanted["resourceSubscriptions"] as readonly string[] | undefined)?.includes(change.uri) === true)
        tell("notifications/resources/updated", { ...change.params, uri: change.uri });
    }
  }

  /** Answers every open request. */
  close(): void {
    for (const { end } of this.#open) end();
  }
}

function isFilter({ resourceSubscriptions: uris, ...flags }: JsonObject): boolean {
  const areUris = uris === undefined || (Array.isArray(uris) && uris.every((uri) => typeof uri === "string"));
  return areUris && Object.values(flags).every((flag) => typeof flag === "boolean" || typeof flag === "object");
}

/** The part of the filter that this server can serve. */
function honored({ resourceSubscriptions: uris, ...flags }: JsonObject, capabilities: JsonObject): JsonObject {
  const can = (name: string, member: string): boolean => {
    const declared = capabilities[name];
    return isJsonObject(declared) && declared[member] === true;
  };
  const lists = ["tools", "prompts", "resources"].filter(
    (name) => flags[`${name}ListChanged`] === true && can(name, "listChanged"),
  );
  const followed = Array.isArray(uris) && uris.length > 0 && can("resources", "subscribe");
  return {
    ...Object.fromEntries(lists.map((name) => [`${name}ListChanged`, true])),
    ...(followed && { resourceSubscriptions: uris }),
  };
}
