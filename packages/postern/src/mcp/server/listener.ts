import type { JsonObject } from "@postern/core";
import type { ResourceListener } from "../../call/client-of-call.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import type { SharedNotice } from "../client/server-features.ts";
import type { RequestSource } from "./request-source.ts";
import { maySee, nameHere } from "./visible-servers.ts";

/** What a client may be told without having called something. */
export type ListenedNotice = SharedNotice | { readonly kind: "list"; readonly list: "tools" };

/** One client that is told what changes, until it ends. */
export class Listener implements ResourceListener {
  readonly followed: ResourceListener["followed"] = new Set();
  readonly source: RequestSource;
  readonly tell: (method: string, params?: JsonObject) => void;
  readonly wants: (notice: ListenedNotice) => boolean;
  readonly #runtime: Runtime;
  #isGone = false;

  constructor(source: RequestSource, runtime: Runtime, tell: Listener["tell"], wants: Listener["wants"]) {
    this.source = source;
    this.tell = tell;
    this.wants = wants;
    this.#runtime = runtime;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** The rights of a caller may have changed since it subscribed. */
  updated(server: string, params: JsonObject): void {
    const uri = nameHere(String(params["uri"]), "uri", server, this.source);
    void maySee(server, this.source, this.#runtime).then((may) => {
      if (may && !this.#isGone) this.tell("notifications/resources/updated", { ...params, uri });
    });
  }

  /** Its subscriptions end with it. */
  end(): void {
    this.#isGone = true;
    for (const subscriptions of this.followed) subscriptions.leave(this);
    this.followed.clear();
  }
}
