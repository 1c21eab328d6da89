/** Settles `unknown` calls for the public API: by an operator's decision, or by the tool's reconcile hook. */

import {
  type Actor,
  builtInName,
  type CallRecord,
  type Clock,
  callStates,
  checkActorFields,
  checkId,
  checkMembers,
  type JsonObject,
  type Kind,
  RuntimeFault,
  shown,
} from "@postern/core";
import { actorOf } from "../../approvals/decision.ts";
import { expiredOutcome } from "../../approvals/request-outcomes.ts";
import { readArguments } from "../../call/arrival.ts";
import { finalArguments } from "../../call/ran-with.ts";
import { type Limits, Session } from "../../call/session.ts";
import type { Parts } from "../../pipeline/dependencies.ts";
import { askTool, type FoundOutcome } from "../../pipeline/reconcile.ts";
import { type SettlementOutcome, type SettlementRequest, settleUnknown } from "../../pipeline/settlement.ts";
import { releasePins } from "../../results/releases.ts";
import type { CallFilter, Store } from "../../store/store.ts";
import { callStateAt } from "../../store/urgency.ts";
import type { LedgerApi, SettledAnswer } from "../api/api.ts";

const words: readonly unknown[] = ["succeeded", "failed", "retry"];

export class LedgerService implements LedgerApi {
  readonly #parts: Parts;
  readonly #store: Store;
  readonly #limits: Limits;

  constructor(parts: Parts, store: Store, limits: Limits) {
    this.#parts = parts;
    this.#store = store;
    this.#limits = limits;
  }

  async settle(
    id: string,
    settledAs: SettlementOutcome,
    reason: string,
    by: Actor = actorOf({ user: builtInName }),
  ): Promise<SettledAnswer> {
    checkActorFields(by, "request_invalid");
    if (!words.includes(settledAs))
      throw new RuntimeFault(
        "request_invalid",
        `The word ${shown(settledAs)} settles nothing; use ${words.join(", ")}.`,
      );
    if (typeof reason !== "string")
      throw new RuntimeFault("request_invalid", `\`reason\` is ${shown(reason)}; it must be a text.`);
    return this.#ifUnknown(id, (record) => this.#write(record, { settledAs, by, reason }));
  }

  reconcile(id: string): Promise<SettledAnswer> {
    return this.#ifUnknown(id, async (record) => {
      const ran = await finalArguments(record, this.#store);
      const session = new Session(this.#limits, this.#parts.clock);
      try {
        return await this.#found(record, await askTool(asRan(record, ran), session, this.#parts));
      } finally {
        if (session.hasPins) await releasePins(session, this.#parts.artifacts, this.#parts.log);
      }
    });
  }

  #found(record: CallRecord, seen: FoundOutcome): Promise<SettledAnswer> | SettledAnswer {
    const by = { by: `tool:${record.call.tool}`, via: "postern" };
    switch (seen.found) {
      case "unknown": {
        const message = `The call stays unknown: ${seen.problem ?? "the tool does not know"}.`;
        return { settled: false, why: "still_unknown", message, call: record };
      }
      case "failed": {
        const reason = seen.reason ?? "the tool found that it did not happen";
        return this.#write(record, { settledAs: "failed", by, reason });
      }
      case "succeeded": {
        const { outcome } = seen;
        const isFailure = outcome?.refusal?.code === "tool_failed"; // it ran and answered with an error
        const reason = outcome === undefined ? "the tool found that it happened" : "the tool found its answer";
        return this.#write(record, { settledAs: isFailure ? "failed" : "succeeded", by, reason, outcome });
      }
    }
  }

  async #ifUnknown(id: string, then: (record: CallRecord) => Promise<SettledAnswer>): Promise<SettledAnswer> {
    const record = await callNamed(id, { store: this.#store, clock: this.#parts.clock });
    if (record === undefined) return { settled: false, why: "call_unknown", message: `There is no call \`${id}\`.` };
    return record.state === "unknown" ? then(record) : notUnknown(record);
  }

  async #write(record: CallRecord, given: SettlementRequest): Promise<SettledAnswer> {
    const { clock, redactor } = this.#parts;
    const testimony = { ...given, reason: redactor.redact(given.reason) };
    const { won, call } = await settleUnknown(record, testimony, { store: this.#store, clock });
    if (won) this.#parts.ledger.history?.settled(call);
    return won ? { settled: true, call: shownRecord(call) } : notUnknown(shownRecord(call));
  }
}

/** The record with the arguments that ran, which a person may have edited. */
function asRan(record: CallRecord, ran: JsonObject): CallRecord {
  return { ...record, call: { ...record.call, ...readArguments(ran) } };
}

const ofCalls: Readonly<Record<keyof CallFilter, Kind>> = {
  keys: "a list of texts",
  state: callStates,
  tool: "a text",
  tenant: "a text",
  runId: "a text",
  parentId: "a text",
  search: "a text",
  since: "a number",
  before: "a text",
  limit: "a whole number from 0",
};

/** @throws RuntimeFault `request_invalid` */
export async function callsWhere(
  where: CallFilter,
  { store, clock }: { readonly store: Pick<Store, "calls">; readonly clock: Clock },
): Promise<readonly CallRecord[]> {
  checkMembers(where, { code: "request_invalid", what: "The filter", members: ofCalls, of: "calls" });
  return (await store.calls(where)).map((record) => shownRecord(asNow(record, clock)));
}

/** Finds a call by its key, the id of its first arrival, or the id of the arrival that ended unknown. */
export async function callNamed(
  id: string,
  { store, clock }: { readonly store: Store; readonly clock: Clock },
): Promise<CallRecord | undefined> {
  checkId(id, "call");
  const record = await store.call({ key: id });
  return record && shownRecord(asNow(record, clock));
}

/** The record by the clock: an approved call that was not run in time has ended, even if no row says so. */
function asNow(record: CallRecord, clock: Clock): CallRecord {
  const state = callStateAt(record, clock.now());
  if (state === record.state) return record;
  const { approvalId, aliveUntil = 0, call } = record;
  return { ...record, state, outcome: expiredOutcome(call.id, { id: approvalId ?? "", expiresAt: aliveUntil }) };
}

/** Freezes a record before it is returned, because a store in memory returns its own row. */
function shownRecord(record: CallRecord): CallRecord {
  Object.freeze(record.call);
  return Object.freeze(record);
}

function notUnknown(call: CallRecord): SettledAnswer {
  const message = `The call \`${call.key}\` is ${call.state}; only an unknown one can be settled.`;
  return { settled: false, why: "not_unknown", message, call };
}
