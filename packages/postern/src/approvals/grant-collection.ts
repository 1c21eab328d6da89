import {
  type Actor,
  type AddedDocument,
  type Clock,
  type JsonObject,
  type NotedEvent,
  newTraceId,
} from "@postern/core";
import { plainJson } from "../store/collection.ts";
import { LiveCollection } from "../store/live-collection.ts";
import type { Store } from "../store/store.ts";
import { type Grant, grantFrom } from "./grant.ts";

export interface GrantCollectionOptions {
  readonly store: Pick<Store, "commit" | "documents" | "follow">;
  readonly clock: Clock;
  readonly policy: { readonly version: string };
}

interface GrantNote extends Required<Actor> {
  readonly type: string;
  readonly summary: string;
  readonly data: JsonObject;
}

const kind = "grant";

/** The grants in the store, each change with its event. */
export class GrantCollection {
  readonly #options: GrantCollectionOptions;
  readonly #collection: LiveCollection<Grant>;
  /** Gets each grant when it is made or changed, by any process. */
  updated: (grant: Grant) => void = () => {};

  private constructor(collection: LiveCollection<Grant>, options: GrantCollectionOptions) {
    this.#collection = collection;
    this.#options = options;
  }

  /** @throws RuntimeFault `internal` */
  static async open(options: GrantCollectionOptions): Promise<GrantCollection> {
    const updated = (grant: Grant): void => opened?.updated(grant);
    const collection = new LiveCollection({ kind, read: grantFrom, store: options.store, updated });
    let opened: GrantCollection | undefined;
    opened = new GrantCollection(await collection.readAll(), options);
    return opened;
  }

  get items(): readonly Grant[] {
    return this.#collection.items;
  }

  get(id: string): Grant | undefined {
    return this.#collection.at(id);
  }

  /** The grant in the store now. */
  fresh(id: string): Promise<Grant | undefined> {
    return this.#collection.get(id);
  }

  /** Adds a grant to another write. When that write has won, call `applyWritten`. */
  addedDocument(grant: Grant, noted: GrantNote): AddedDocument {
    return { kind, id: grant.id, body: plainJson(grant), event: this.#event(noted) };
  }

  applyWritten(grant: Grant): void {
    this.#collection.applyWritten(grant.id, 1, grant);
  }

  /**
   * Resolves to the changed grant, or to undefined if there is none.
   *
   * @param next returns undefined if nothing changes
   */
  async change(
    id: string,
    next: (grant: Grant) => { readonly item: Grant; readonly noted?: GrantNote } | undefined,
  ): Promise<Grant | undefined> {
    const { item } = await this.#collection.change(id, (before) => {
      const change = before && next(before);
      return change && { item: change.item, event: change.noted && this.#event(change.noted) };
    });
    return item;
  }

  #event(noted: GrantNote): NotedEvent {
    const { clock, policy } = this.#options;
    return {
      moment: "noted",
      at: clock.now(),
      traceId: newTraceId(),
      policyVersion: policy.version,
      outcome: "success",
      ...noted,
    };
  }
}
