import type { CallRecord, Clock, Principal } from "@postern/core";
import type { Reconciled } from "../tools/tool.ts";
import { answerFromJson } from "./answer-value.ts";
import { dayMs, type NatsLink, streams } from "./nats.ts";
import type { OrderTokens } from "./order-tokens.ts";
import type { PeerKeys } from "./seal.ts";
import { answerSchema, type NamedCall, subjects, type WorkAnswer } from "./workers.ts";

export interface StoredAnswersOptions {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly keys: PeerKeys;
  readonly tokens: OrderTokens;
  readonly mayAnswer: (group: string, name: string) => boolean;
}

/** By so much the clock of NATS may differ from that of the gateway. */
const clockDifferenceMs = 300_000;
/** An older call may have had an answer that NATS no longer keeps. */
const keptMs = dayMs - clockDifferenceMs;
const neverTaken = "no worker took it, so it was not run; `postern workers dead-letters` shows whether one refused it";

/** What NATS keeps of a call: the answers of workers, and who took the order. */
export class StoredAnswers {
  readonly #options: StoredAnswersOptions;

  constructor(options: StoredAnswersOptions) {
    this.#options = options;
  }

  /** The first answer that a worker of the group signed for this call. */
  async find(named: NamedCall, group: string): Promise<(WorkAnswer & { readonly signature: string }) | undefined> {
    const { link, keys, mayAnswer } = this.#options;
    for await (const { text } of link.stored(streams.done, subjects.done(named))) {
      const opened = keys.open("answer", text, answerSchema);
      if ("problem" in opened || !mayAnswer(group, opened.by)) continue;
      const { body, signature } = opened;
      const { key, callId, fence } = named;
      if (body.group === group && body.key === key && body.callId === callId && (fence ?? body.fence) === body.fence)
        return { ...body, signature };
    }
    return undefined;
  }

  /** How a call ended, also one of a gateway that is dead. If no worker took the order, none will from now on. */
  async endOf(record: CallRecord, group: string): Promise<Reconciled> {
    if (!this.#options.link.connected) return { found: "unknown" };
    const { key, call, fence, attemptedBy = call.id } = record;
    const named = { fence, key, callId: attemptedBy };
    const answer = await this.find(named, group);
    if (answer === undefined) return this.#withdraw(named, record);
    const { end } = answer;
    switch (end.ran) {
      case "returned":
        return { found: "succeeded", answer: answerFromJson(end.value) as null }; // toRawResult accepts every value
      case "returned_large":
        return { found: "succeeded", answer: (await this.large(end.kept, call.authority.principal)) as null };
      case "threw":
        return end.failure.unknown ? { found: "unknown" } : { found: "failed", reason: end.failure.message };
      case "refused":
        return { found: "failed", reason: `the worker did not run it: ${end.reason}` };
      default:
        return end satisfies never;
    }
  }

  /** An answer that was sent over HTTP. @throws RuntimeFault `artifact_unavailable` */
  async large(digest: string, principal: Principal): Promise<unknown> {
    return answerFromJson(JSON.parse(await this.#options.tokens.keptAnswer(digest, principal)));
  }

  /** It is sure that no worker took an order only if the stream is older than the call, and the call than what is kept. */
  async #withdraw(named: NamedCall, { startedAt = 0 }: CallRecord): Promise<Reconciled> {
    const { link, clock } = this.#options;
    const subject = subjects.taken(named);
    for await (const { text } of link.stored(streams.done, subject))
      return text === "withdrawn" ? { found: "failed", reason: neverTaken } : { found: "unknown" };
    const made = Date.parse(link.storeMade ?? "");
    const isKept = clock.now() - startedAt < keptMs;
    if (named.fence === undefined || !isKept || !(made + clockDifferenceMs < startedAt)) return { found: "unknown" };
    const published = await link.store(subject, "withdrawn", { once: true });
    return published === "stored" ? { found: "failed", reason: neverTaken } : { found: "unknown" };
  }
}
