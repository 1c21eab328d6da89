import {
  type Actor,
  type Clock,
  checkActorFields,
  type Json,
  type JsonObject,
  type NotedEvent,
  newTraceId,
  RuntimeFault,
} from "@postern/core";
import { type Changed, Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import type { accountProblems } from "./accounts.ts";

export interface AccountNotesOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Recorded in the event of each change. */
  readonly policy: { readonly version: string };
}

/** An event before it gets its time: `operator.action.<act>` in the log. */
export interface AccountNote extends Actor {
  readonly act: string;
  readonly summary: string;
  readonly tenant: string;
  readonly outcome?: NotedEvent["outcome"];
  readonly data?: JsonObject;
}

export interface NotedChange<Item> {
  readonly item: Item;
  readonly note?: AccountNote;
}

/** The documents of accounts. Each change is written with its event. */
export class AccountNotes {
  readonly #options: AccountNotesOptions;

  constructor(options: AccountNotesOptions) {
    this.#options = options;
  }

  get now(): number {
    return this.#options.clock.now();
  }

  /** @param read by default the body unchanged, because only Postern writes these kinds */
  collection<Item>(kind: string, read = (body: Json): Item => body as unknown as Item): Collection<Item> {
    return new Collection({ store: this.#options.store, kind, read });
  }

  /** Changes one document and writes its event. */
  change<Item>(
    collection: Collection<Item>,
    id: string,
    next: (item: Item | undefined) => NotedChange<Item> | undefined | Promise<NotedChange<Item> | undefined>,
  ): Promise<Changed<Item>> {
    return collection.change(id, async (before) => {
      const change = await next(before);
      return change && { item: change.item, event: change.note && this.#event(change.note) };
    });
  }

  /** Writes an event without a change. */
  async note(note: AccountNote): Promise<void> {
    await this.#options.store.commit({ write: "note", event: this.#event(note) }, "committed");
  }

  #event({ act, summary, by, via, tenant, outcome = "success", data = {} }: AccountNote): NotedEvent {
    return {
      moment: "noted",
      at: this.now,
      type: `operator.action.${act}`,
      summary,
      traceId: newTraceId(),
      tenant,
      by,
      policyVersion: this.#options.policy.version,
      outcome,
      via,
      data,
    };
  }
}

export function accountFault(code: keyof typeof accountProblems, message: string): RuntimeFault {
  return new RuntimeFault(code, message);
}

/** @throws RuntimeFault `request_invalid` for an actor without a name: it would be confined to no tenant */
export function mayTouch(actor: Actor, tenant: string): boolean {
  checkActorFields(actor, "request_invalid");
  return actor.tenant === undefined || actor.tenant === tenant;
}
