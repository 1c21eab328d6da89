import type { ApprovalRecord, CallRecord, CallState, StoreWrite } from "@postern/core";
import { FakeClock } from "@postern/core/testing";
import { expect } from "vitest";
import type { OpenStore } from "../../store/open-store.ts";
import type { Committed, Store } from "../../store/store.ts";
import { approvalOf, callOf, claimOf, holdOf, hourMs, recordOf, serializePlainly } from "../records.ts";

export const wins = { won: true } as const;

/** The store under test, a new one for each test, with shared first steps. */
export class StoreKit {
  readonly problems: string[] = [];
  readonly #open: OpenStore;
  #clock: FakeClock = new FakeClock();
  #store: Store | undefined;

  constructor(open: OpenStore) {
    this.#open = open;
  }

  get clock(): FakeClock {
    return this.#clock;
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error("no test has begun");
    return this.#store;
  }

  async begin(): Promise<void> {
    this.#clock = new FakeClock();
    this.problems.length = 0;
    const log = (problem: string): void => void this.problems.push(problem);
    this.#store = await this.#open({ clock: this.#clock, serialize: serializePlainly, log });
  }

  readonly commit = async (write: StoreWrite): Promise<Committed> => await this.store.commit(write, "committed");

  readonly state = async (key: string): Promise<CallState | undefined> => (await this.store.call({ key }))?.state;

  /** Holds a call and returns its row and its approval. */
  readonly held = async (more: Partial<CallRecord> = {}): Promise<{ record: CallRecord; approval: ApprovalRecord }> => {
    const call = callOf(this.clock);
    const { id } = call;
    const wanted = {
      match: `match of ${id}`,
      approvalId: `apr_${id}`,
      aliveUntil: this.clock.now() + hourMs,
    };
    const record = recordOf(call, { state: "held", ...wanted, ...more });
    const approval = approvalOf(record);
    expect(await this.commit(holdOf(record, approval))).toEqual(wins);
    return { record, approval };
  };

  /** Claims a call and returns its stored row. */
  readonly attempted = async (more: Partial<CallRecord> = {}): Promise<CallRecord> => {
    const record = recordOf(callOf(this.clock), {
      fence: this.store.incarnation,
      ...more,
    });
    expect(await this.commit(claimOf(record))).toEqual(wins);
    return record;
  };
}
