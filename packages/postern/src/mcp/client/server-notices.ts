import type { Clock, JsonObject } from "@postern/core";
import { type LogLevel, logLevels } from "../../call/client-of-call.ts";
import { Coalesced } from "./coalesced.ts";
import { ResourceSubscriptions } from "./resource-subscriptions.ts";
import type { FeaturesOfServers } from "./server-features.ts";
import type { NoticeReceiver, ServerNotice, Upstream } from "./upstream.ts";

export interface ServerNoticesOptions {
  readonly features: FeaturesOfServers;
  readonly clock: Clock;
  readonly redact: (params: JsonObject) => JsonObject;
}

/** What one server tells by itself over its shared connection, for the clients of the runtime. */
export class ServerNotices implements NoticeReceiver {
  readonly resources: ResourceSubscriptions;
  readonly #options: ServerNoticesOptions;
  readonly #server: string;
  readonly #lists: Readonly<Record<"prompts" | "resources", Coalesced>>;
  #upstream: Upstream | undefined;
  #logsFrom: LogLevel | undefined;

  constructor(server: string, options: ServerNoticesOptions) {
    const { clock, features } = options;
    this.#server = server;
    this.#options = options;
    this.resources = new ResourceSubscriptions(server, options);
    const changed = (list: "prompts" | "resources"): Coalesced =>
      new Coalesced(clock, () => features.tell(server, { kind: "list", list }));
    this.#lists = { prompts: changed("prompts"), resources: changed("resources") };
  }

  get wantsUpdates(): boolean {
    return this.resources.size > 0;
  }

  get wantsMessages(): boolean {
    return this.#options.features.wantsMessages;
  }

  receive(notice: ServerNotice): void {
    const { features, redact } = this.#options;
    if (notice.kind === "list") this.#lists[notice.list].changed();
    else if (notice.kind === "updated") this.resources.updated(notice.params);
    else features.tell(this.#server, { ...notice, params: redact(notice.params) });
  }

  /** A server that is connected later is asked too. */
  async askForLogs(from: LogLevel): Promise<void> {
    const asked = this.#logsFrom ?? from;
    this.#logsFrom = logLevels.indexOf(from) < logLevels.indexOf(asked) ? from : asked;
    await this.#upstream?.askForLogs?.(this.#logsFrom);
  }

  connected(upstream: Upstream): void {
    this.#upstream = upstream;
    if (this.#logsFrom !== undefined) void upstream.askForLogs?.(this.#logsFrom);
    this.resources.connected(upstream);
    for (const list of ["prompts", "resources"] as const)
      if (upstream.capabilities?.[list] !== undefined) this.#lists[list].changed();
  }

  close(): void {
    this.resources.close();
    for (const list of Object.values(this.#lists)) list.close();
  }
}
