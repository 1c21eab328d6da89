/** What becomes of `unknown` calls, as the public face has it: an operator's word, or the tool's own look (D20). */
import { builtInName } from "../accounts/roles.ts";
import { actorOf } from "../approvals/decision.ts";
import { type Actor, checkWho } from "../calls/actor.ts";
import { read } from "../calls/arrival.ts";
import { checkId } from "../calls/checked-id.ts";
import { checkMembers, type Kind } from "../calls/checked-members.ts";
import { RuntimeFault } from "../calls/fault.ts";
import { countingArguments } from "../calls/ran-with.ts";
import type { CallRecord } from "../calls/records.ts";
import { shown } from "../calls/shown.ts";
import { callStates } from "../calls/states.ts";
import { askTool } from "../executors/reconcile.ts";
import type { LedgerFace, Settled } from "../face.ts";
import { settleUnknown, type Word } from "../ledger/settlement.ts";
import type { Parts } from "../parts.ts";
import type { CallFilter, Store } from "../stores/store.ts";

const words: readonly unknown[] = ["succeeded", "failed", "retry"];

export class Settling implements LedgerFace {
  readonly #parts: Parts;
  readonly #store: Store;

  constructor(parts: Parts, store: Store) {
    this.#parts = parts;
    this.#store = store;
  }

  async settle(id: string, word: Word, reason: string, by: Actor = actorOf({ user: builtInName })): Promise<Settled> {
    checkWho(by, "settlement_invalid");
    if (!words.includes(word))
      throw new RuntimeFault("settlement_invalid", `The word ${shown(word)} settles nothing; say ${words.join(", ")}.`);
    if (typeof reason !== "string")
      throw new RuntimeFault("settlement_invalid", `\`reason\` is ${shown(reason)}; it must be a text.`);
    return this.#ifUnknown(id, (record) => this.#write(record, { word, by, reason }));
  }

  reconcile(id: string): Promise<Settled> {
    return this.#ifUnknown(id, async (record) => {
      const ran = await countingArguments(record, this.#store);
      const seen = await askTool({ ...record, call: { ...record.call, ...read(ran) } }, this.#parts);
      if (seen.found === "unknown") {
        const message = `The call stays unknown: ${seen.problem ?? "the tool could not tell"}.`;
        return { settled: false, why: "still_unknown", message, call: record };
      }
      const failed = seen.found === "failed" ? (seen.reason ?? "the tool found that it did not happen") : undefined;
      const by = { by: `tool:${record.call.tool}`, via: "postern" };
      return this.#write(record, { word: seen.found, by, reason: failed ?? "the tool found that it happened" });
    });
  }

  async #ifUnknown(id: string, then: (record: CallRecord) => Promise<Settled>): Promise<Settled> {
    const record = await callNamed(id, this.#store);
    if (record === undefined) return { settled: false, why: "call_unknown", message: `There is no call \`${id}\`.` };
    return record.state === "unknown" ? then(record) : notUnknown(record);
  }

  async #write(record: CallRecord, given: { word: Word; by: Actor; reason: string }): Promise<Settled> {
    const { clock, redactor } = this.#parts;
    const said = { ...given, reason: redactor.redact(given.reason) };
    const { won, call } = await settleUnknown(record, said, { store: this.#store, clock });
    if (won) this.#parts.ledger.history?.settled(call);
    return won ? { settled: true, call } : notUnknown(call);
  }
}

const ofCalls: Readonly<Record<keyof CallFilter, Kind>> = {
  state: callStates,
  tool: "a text",
  tenant: "a text",
  runId: "a text",
  parentId: "a text",
  before: "a number",
  limit: "a whole number from 0",
};

/** @throws RuntimeFault `filter_invalid` */
export async function callsWhere(where: CallFilter, store: Pick<Store, "calls">): Promise<readonly CallRecord[]> {
  checkMembers(where, { code: "filter_invalid", what: "The filter", members: ofCalls, of: "calls" });
  return store.calls(where);
}

/** By key, by the id of its first arrival, or by the id of the arrival that ended unknown: that is the one its caller was told. */
export async function callNamed(id: string, store: Store): Promise<CallRecord | undefined> {
  checkId(id, "call");
  return store.call({ key: id });
}

function notUnknown(call: CallRecord): Settled {
  const message = `The call \`${call.key}\` is ${call.state}; only an unknown one can be settled.`;
  return { settled: false, why: "not_unknown", message, call };
}
