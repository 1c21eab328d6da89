import type { JsonObject, Principal } from "@postern/core";
import type { ClientOfCall, LogLevel } from "../../call/client-of-call.ts";
import type { ServerNotice } from "./upstream.ts";

/** What a server has beside tools. Lists are read as its list of tools is; every other request is a call. */
export interface ServerFeatures {
  /** What it declares. */
  readonly capabilities: JsonObject;
  list(method: string, member: string): Promise<readonly JsonObject[]>;
  /** Asks it for log messages, also of no call. */
  askForLogs(from: LogLevel): Promise<void>;
  /** `resources/subscribe` or `unsubscribe` for a client whose call was answered by an earlier one. */
  repeat(method: string, uri: string, client: ClientOfCall, principal: Principal): Promise<void>;
  /** What it tells models about itself, if that is trusted. */
  readonly instructions: string | undefined;
}

/** What concerns more than the listeners of one resource. */
export type SharedNotice = Exclude<ServerNotice, { readonly kind: "updated" }>;

export interface NoticeFollower {
  readonly wantsMessages: boolean;
  /** @param server its name in the configuration */
  told(server: string, notice: SharedNotice): void;
}

/** The connected servers of one runtime, as its MCP server needs them. */
export class FeaturesOfServers {
  readonly #features = new Map<string, ServerFeatures>();
  readonly #followers = new Set<NoticeFollower>();

  get(server: string): ServerFeatures | undefined {
    return this.#features.get(server);
  }

  /** In the order of their names, so that the same servers are shown in the same order. */
  all(): readonly (readonly [server: string, features: ServerFeatures])[] {
    return [...this.#features].sort(([one], [other]) => (one < other ? -1 : 1));
  }

  set(server: string, features: ServerFeatures): void {
    this.#features.set(server, features);
  }

  get wantsMessages(): boolean {
    for (const { wantsMessages } of this.#followers) if (wantsMessages) return true;
    return false;
  }

  /** The returned function ends it. */
  follow(follower: NoticeFollower): () => void {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  tell(server: string, notice: SharedNotice): void {
    for (const follower of this.#followers) follower.told(server, notice);
  }
}

const ofRegistries = new WeakMap<object, FeaturesOfServers>();

/** @param registry where the tools of the servers are registered */
export function featuresIn(registry: object): FeaturesOfServers {
  const known = ofRegistries.get(registry) ?? new FeaturesOfServers();
  ofRegistries.set(registry, known);
  return known;
}
