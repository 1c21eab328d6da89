import { type Actor, checkWho } from "../calls/actor.ts";
import type { Clock } from "../calls/clock.ts";
import type { NotedEvent } from "../calls/event.ts";
import { RuntimeFault } from "../calls/fault.ts";
import { newTraceId } from "../calls/ids.ts";
import type { Json, JsonObject } from "../calls/json.ts";
import type { Store } from "../stores/store.ts";
import type { accountProblems } from "./accounts.ts";

export interface AccountsHouse {
  readonly store: Store;
  readonly clock: Clock;
  /** Told in the event of each change (D25). */
  readonly policyVersion: string;
}

/** What happened, before it is dated: `operator.action.<act>` in the log. */
export interface Note extends Actor {
  readonly act: string;
  readonly summary: string;
  readonly tenant: string;
  readonly outcome?: NotedEvent["outcome"];
  readonly data?: JsonObject;
}

/** Other writers may win a few times in a row; more than this means that something else is wrong. */
const mostTries = 20;

/** The documents of people, each change written with its event. */
export class AccountNotes {
  readonly #house: AccountsHouse;

  constructor(house: AccountsHouse) {
    this.#house = house;
  }

  get now(): number {
    return this.#house.clock.now();
  }

  get(kind: string, id: string): Promise<{ readonly version: number; readonly body: Json } | undefined> {
    return this.#house.store.documents.get(kind, id);
  }

  list(kind: string, prefix = ""): Promise<readonly string[]> {
    return this.#house.store.documents.list(kind, prefix);
  }

  /** True when it won: the version was still the expected one, and the event is written with it. */
  async put(
    { kind, id }: { readonly kind: string; readonly id: string },
    written: { readonly body: Json; readonly version: number },
    note: Note | undefined,
  ): Promise<boolean> {
    const committed = await this.#house.store.commit(
      {
        write: "document",
        kind,
        id,
        body: written.body,
        expectedVersion: written.version,
        ...(note !== undefined && { event: this.#event(note) }),
      },
      note === undefined ? "committed" : "synced",
    );
    return committed.won;
  }

  /** Only that it happened. */
  async note(note: Note): Promise<void> {
    await this.#house.store.commit({ write: "note", event: this.#event(note) }, "committed");
  }

  /** Tries again when somebody else was faster. `attempt` answers undefined for "again". */
  async untilWon<T>(attempt: () => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const done = await attempt();
      if (done !== undefined) return done;
    }
    throw accountFault("account_contended", "This is being changed by somebody else all the time; try again.");
  }

  #event({ act, summary, by, via, tenant, outcome = "success", data = {} }: Note): NotedEvent {
    return {
      moment: "noted",
      at: this.now,
      type: `operator.action.${act}`,
      summary,
      traceId: newTraceId(),
      tenant,
      by,
      policyVersion: this.#house.policyVersion,
      outcome,
      via,
      data,
    };
  }
}

export function accountFault(code: keyof typeof accountProblems, message: string): RuntimeFault {
  return new RuntimeFault(code, message);
}

/** @throws RuntimeFault `account_invalid` for an actor that cannot be named: what is confined by nobody is everything */
export function mayTouch(actor: Actor, tenant: string): boolean {
  checkWho(actor, "account_invalid");
  return actor.tenant === undefined || actor.tenant === tenant;
}
