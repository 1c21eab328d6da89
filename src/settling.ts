/** What becomes of `unknown` calls, as the public face has it: an operator's word, or the tool's own look (D20). */
import type { Decider } from "./approvals/decision.ts";
import type { CallRecord } from "./calls/records.ts";
import { askTool } from "./executors/reconcile.ts";
import type { LedgerFace, Settled } from "./face.ts";
import { settleUnknown, type Word } from "./ledger/settlement.ts";
import type { Parts } from "./parts.ts";
import type { Store } from "./stores/store.ts";

export class Settling implements LedgerFace {
  readonly #parts: Parts;
  readonly #store: Store;

  constructor(parts: Parts, store: Store) {
    this.#parts = parts;
    this.#store = store;
  }

  settle(id: string, word: Word, reason: string, by: Decider = { user: "operator" }): Promise<Settled> {
    return this.#ifUnknown(id, (record) => this.#write(record, word, by.user, reason));
  }

  reconcile(id: string): Promise<Settled> {
    return this.#ifUnknown(id, async (record) => {
      const seen = await askTool(record, this.#parts);
      if (seen.found === "unknown") {
        const message = `The call stays unknown: ${seen.problem ?? "the tool could not tell"}.`;
        return { settled: false, why: "still_unknown", message, call: record };
      }
      const failed = seen.found === "failed" ? (seen.reason ?? "the tool found that it did not happen") : undefined;
      return this.#write(record, seen.found, `tool:${record.call.tool}`, failed ?? "the tool found that it happened");
    });
  }

  async #ifUnknown(id: string, then: (record: CallRecord) => Promise<Settled>): Promise<Settled> {
    const record = await callNamed(id, this.#store);
    if (record === undefined) return { settled: false, why: "call_unknown", message: `There is no call \`${id}\`.` };
    return record.state === "unknown" ? then(record) : notUnknown(record);
  }

  async #write(record: CallRecord, word: Word, by: string, reason: string): Promise<Settled> {
    const { clock, redactor } = this.#parts;
    const { won, call } = await settleUnknown(this.#store, clock, record, word, by, redactor.redact(reason));
    if (won) this.#parts.ledger.history?.settled(call);
    return won ? { settled: true, call } : notUnknown(call);
  }
}

/** By key, by the id of its first arrival, or by the id of the arrival that ended unknown: that is the one its caller was told. */
export async function callNamed(id: string, store: Store): Promise<CallRecord | undefined> {
  const record = await store.call({ key: id });
  if (record !== undefined) return record;
  return (await store.calls({ state: "unknown" })).find(({ outcome }) => outcome?.callId === id);
}

function notUnknown(call: CallRecord): Settled {
  const message = `The call \`${call.key}\` is ${call.state}; only an unknown one can be settled.`;
  return { settled: false, why: "not_unknown", message, call };
}
