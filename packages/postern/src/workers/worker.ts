import { randomUUID } from "node:crypto";
import { type Clock, messageOf } from "@postern/core";
import { directLimits, Session } from "../call/session.ts";
import { inputOf } from "../pipeline/input.ts";
import { noArtifacts } from "../results/own-artifacts.ts";
import { holdsStream, withStoredStreams } from "../results/stored-streams.ts";
import { lend } from "../secrets/lend.ts";
import { redactJson } from "../secrets/redact-json.ts";
import type { Redactor, SecretStore } from "../secrets/secret-store.ts";
import { failureOf } from "../tools/failure.ts";
import { internalsOf, type Registry } from "../tools/registry.ts";
import { type LazySignal, type Ran, runForeign } from "../tools/run-foreign.ts";
import type { Action } from "../tools/tool.ts";
import { answerToJson } from "./answer-value.ts";
import { type DeadReason, keepDeadLetter, type RefusedMessage } from "./dead-letters.ts";
import type { NatsLink } from "./nats.ts";
import { RemoteArtifacts } from "./remote-artifacts.ts";
import { PeerKeys, sealed } from "./seal.ts";
import { workerContext } from "./worker-context.ts";
import type { WorkerKey } from "./worker-key.ts";
import {
  type AnswerEnd,
  actionName,
  type Beat,
  beatEveryMs,
  cancelSchema,
  orderSchema,
  subjects,
  type WorkAnswer,
  type WorkerProgress,
  type WorkOrder,
} from "./workers.ts";

export interface WorkerOptions {
  readonly link: NatsLink;
  readonly key: WorkerKey;
  /** Public keys of the gateways, by name. */
  readonly keys: Readonly<Record<string, string>>;
  readonly group: string;
  readonly registry: Registry;
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
  /** How many orders run at once. */
  readonly limit: number;
  readonly version: string;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
}

interface RunningOrder {
  readonly cancel: AbortController;
}

/** The longest time of a timer, in milliseconds. */
const longestMs = 2 ** 31 - 1;
/** Progress of one call is sent so often; the latest wins. */
const progressEveryMs = 50;
const tryAgainMs = 500;
/** For so long an answer waits for NATS to come back. */
const mostAnswerWaitMs = 600_000;

/** The worker's end: takes one order for each free place, runs it once, and answers it. */
export class Worker implements AsyncDisposable {
  readonly #options: WorkerOptions;
  readonly #keys: PeerKeys;
  readonly #start = randomUUID();
  readonly #running = new Map<string, RunningOrder>();
  #beats = 0;
  #leaving = false;
  #stopBeat: (() => void) | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#keys = new PeerKeys(options.keys);
  }

  /** Resolves when it takes orders. */
  async start(): Promise<void> {
    const { link, group, limit } = this.#options;
    await link.whenConnected(async (first) => {
      await link.makeConsumer(group, subjects.orders(group));
      if (first) {
        link.subscribe(subjects.report, () => this.#beat());
        link.subscribe(subjects.cancel(group), (text) => this.#onCancel(text));
      }
      this.#beat();
    });
    this.#keepBeating();
    this.#ended = Promise.all(Array.from({ length: limit }, () => this.#takeOrders()));
  }

  get running(): number {
    return this.#running.size;
  }

  /** Takes nothing new and finishes what runs. */
  async drain(): Promise<void> {
    this.#leaving = true;
    this.#beat();
    await this.#ended;
    await this.#options.link.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leaving = true;
    this.#stopBeat?.();
    for (const { cancel } of this.#running.values()) cancel.abort();
    await this.#options.link[Symbol.asyncDispose]();
  }

  #keepBeating(): void {
    this.#beat();
    this.#stopBeat = this.#options.clock.in(beatEveryMs, () => this.#keepBeating());
  }

  #beat(): void {
    const { link, key, group, limit, version, registry } = this.#options;
    this.#beats += 1;
    const tools = registry.offers().map(({ tool, name, definition }) => [actionName(tool, name), definition]);
    const beat: Beat = {
      ...{ group, version, limit, start: this.#start, number: this.#beats, leaving: this.#leaving },
      ...{ tools: Object.fromEntries(tools), running: [...this.#running.keys()] },
    };
    link.publish(subjects.beats(group), sealed("beat", beat, key));
  }

  /** One place: it asks for the next order when its last one is answered. */
  async #takeOrders(): Promise<void> {
    const { link, group, clock, log } = this.#options;
    const subject = subjects.orders(group);
    let problem: string | undefined;
    while (!this.#leaving) {
      try {
        const text = link.connected ? await link.nextOrder(group, subject) : await this.#sleep(clock);
        problem = undefined;
        if (text !== undefined) await this.#handle(text);
      } catch (error) {
        const message = messageOf(error);
        if (message !== problem && link.connected) log(`No order can be taken: ${message}.`);
        problem = message;
        await this.#sleep(clock);
      }
    }
  }

  async #sleep(clock: Clock): Promise<undefined> {
    await new Promise<void>((done) => clock.in(tryAgainMs, done));
    return undefined;
  }

  async #handle(text: string): Promise<void> {
    const { group, link, clock } = this.#options;
    const opened = this.#keys.open("order", text, orderSchema);
    if ("problem" in opened)
      return this.#refuse({ reason: opened.problem, ...(opened.by !== undefined && { from: opened.by }) });
    const { body: order, by: from } = opened;
    const { call, fence, key } = order;
    const named = { from, tool: call.tool, callId: call.id };
    if (order.group !== group) return this.#refuse({ reason: "other_group", ...named });
    // Only who writes this first may run the order, or refuse it.
    const taken = await link.store(subjects.taken({ fence, key, callId: call.id }), this.#options.key.publicKey, {
      once: true,
    });
    if (taken !== "stored") {
      if (taken === "exists") await this.#refuse({ reason: "replayed", ...named });
      return;
    }
    const found = internalsOf(this.#options.registry).find(call.tool, call.action);
    const refused = refusalOf(order, found, clock.now());
    if (refused === undefined && found !== undefined) return this.#run(order, found);
    const { reason, message } = refused ?? { reason: "tool_unknown", message: "it is missing" };
    await this.#refuse({ reason, ...named });
    await this.#answer(order, { ran: "refused", reason: message });
  }

  async #run(order: WorkOrder, found: Action): Promise<void> {
    const { clock, log, secrets, redactor } = this.#options;
    const { call, references, deadline } = order;
    const cancel = new AbortController();
    this.#running.set(call.id, { cancel });
    const limitMs = Math.min(Math.max(1, Math.ceil(deadline - clock.now())), longestMs);
    const artifacts = new RemoteArtifacts(
      order.artifacts,
      AbortSignal.any([cancel.signal, AbortSignal.timeout(limitMs)]),
    );
    const loan = lend(secrets, redactor);
    const body = async (run: LazySignal): Promise<unknown> => {
      const input = await inputOf({ ...call, found, references }, artifacts);
      const context = workerContext(order, run, { secrets: loan, artifacts, report: this.#reporter(order) });
      return this.#withBytes(await found.execute(input, context), run, order);
    };
    const onLate = (): void =>
      log(`\`${call.tool}\` answered after its call \`${call.id}\` was over; the answer is dropped.`);
    const ran = await runForeign(body, { limitMs, signal: cancel.signal, clock, onLate });
    loan.end();
    try {
      await this.#answer(order, await this.#endOf(ran, order, artifacts));
    } finally {
      this.#running.delete(call.id);
    }
  }

  /** Streams are read within the time of the call. Their bytes travel as base64. */
  #withBytes(answer: unknown, run: LazySignal, { answerBytes, call }: WorkOrder): unknown {
    if (!holdsStream(answer)) return answer;
    const { redactor, clock } = this.#options;
    return withStoredStreams(answer, {
      ...{ redactor, answerBytes, artifactBytes: answerBytes, artifacts: noArtifacts, stored: new Set<string>() },
      ...{ owner: call.authority.principal, session: new Session(directLimits, clock), judgement: {} },
      signal: () => run.signal,
    });
  }

  /** After a timeout or a cancellation the gateway no longer waits, so the answer is only for the record. */
  async #endOf(ran: Ran<unknown>, order: WorkOrder, artifacts: RemoteArtifacts): Promise<AnswerEnd> {
    const { redactor, link } = this.#options;
    const over = (message: string): AnswerEnd => ({
      ran: "threw",
      failure: { message, retryable: false, unknown: true, notExecuted: false },
    });
    switch (ran.ran) {
      case "returned": {
        const value = redactJson(answerToJson(ran.value, order.answerBytes), redactor);
        const text = JSON.stringify(value);
        if (Buffer.byteLength(text) < link.maxBytes - 4096) return { ran: "returned", value };
        try {
          return { ran: "returned_large", kept: await artifacts.keepAnswer(text) };
        } catch (error) {
          return { ran: "returned", value: { lost: `it is too large for a message of NATS. ${messageOf(error)}` } };
        }
      }
      case "threw": {
        const { message, retryable, unknown, notExecuted, rateLimitResetsAt, details } = failureOf(ran.error);
        const more = {
          ...(rateLimitResetsAt !== undefined && { rateLimitResetsAt }),
          ...(details !== undefined && { details }),
        };
        const failure = {
          message: redactor.redact(message),
          retryable,
          unknown,
          notExecuted,
          ...redactJson(more, redactor),
        };
        return { ran: "threw", failure } as AnswerEnd; // details are JSON
      }
      case "timed_out":
        return over("it timed out on its worker");
      case "cancelled":
        return over("it was cancelled");
      case "stopped":
        return over("its worker stopped before it ended");
      default:
        return ran satisfies never;
    }
  }

  #reporter(order: WorkOrder): (what: Pick<WorkerProgress, "progress" | "emitted">) => void {
    const { link, key, clock, group, redactor } = this.#options;
    const { fence, call } = order;
    const send = (what: Pick<WorkerProgress, "progress" | "emitted">): void => {
      if (!this.#running.has(call.id)) return;
      const body: WorkerProgress = { callId: call.id, group, ...redactJson(what, redactor) };
      link.publish(subjects.progress(fence), sealed("progress", body, key));
    };
    let latest: Pick<WorkerProgress, "progress" | "emitted"> | undefined;
    let isWaiting = false;
    const wait = (): void => {
      isWaiting = true;
      clock.in(progressEveryMs, () => {
        isWaiting = false;
        if (latest === undefined) return;
        send(latest);
        latest = undefined;
        wait();
      });
    };
    return (what) => {
      if (what.emitted !== undefined) return send(what);
      if (isWaiting) latest = what;
      else {
        send(what);
        wait();
      }
    };
  }

  /** The answer is stored, so that a gateway that comes back finds it. */
  async #answer(order: WorkOrder, end: AnswerEnd): Promise<void> {
    const { link, key, group, clock, log } = this.#options;
    const { call, fence } = order;
    const answer: WorkAnswer = { key: order.key, fence, callId: call.id, group, end };
    const text = sealed("answer", answer, key);
    const until = clock.monotonic() + mostAnswerWaitMs;
    while (clock.monotonic() < until) {
      const published = await link.store(subjects.done({ fence, key: order.key, callId: call.id }), text, {
        id: `done ${call.id}`,
      });
      if (published === "stored") return;
      await this.#sleep(clock);
    }
    log(`The answer of \`${call.tool}\` (call \`${call.id}\`) could not be sent; at the gateway the call is unknown.`);
  }

  #onCancel(text: string): void {
    const opened = this.#keys.open("cancel", text, cancelSchema);
    if ("problem" in opened || opened.body.group !== this.#options.group) return;
    this.#running
      .get(opened.body.callId)
      ?.cancel.abort(new DOMException("The gateway cancelled the call.", "AbortError"));
  }

  async #refuse(letter: Omit<RefusedMessage, "message" | "group" | "refusedBy">): Promise<void> {
    const { link, group, key, log } = this.#options;
    log(`An order was refused: ${letter.reason}${letter.callId === undefined ? "" : ` (call \`${letter.callId}\`)`}.`);
    await keepDeadLetter(link, { message: "order", group, refusedBy: key.publicKey, ...letter });
  }
}

function refusalOf(
  { call: { tool, action }, definition, expires }: WorkOrder,
  found: Action | undefined,
  now: number,
): { readonly reason: DeadReason; readonly message: string } | undefined {
  if (expires < now)
    return {
      reason: "expired",
      message: "the order came after its time; if that repeats, compare the clocks of gateway and worker",
    };
  if (found === undefined)
    return { reason: "tool_unknown", message: `the worker has no \`${tool}\` with the action \`${action}\`` };
  if (found.definition !== definition)
    return {
      reason: "definition_differs",
      message: `the worker has another definition of \`${tool}\`; give gateway and worker the same version`,
    };
  return undefined;
}
