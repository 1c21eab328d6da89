import { type CallRecord, type Clock, messageOf } from "@postern/core";
import type { Caller } from "../call/session.ts";
import { timeLeft } from "../pipeline/execute.ts";
import type { ClaimedCall } from "../pipeline/gates/stages.ts";
import type { Workers } from "../pipeline/workers.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";
import { LostAnswer, mostAnswerBytes } from "../results/raw-result.ts";
import type { Action, Reconciled, ToolContext } from "../tools/tool.ts";
import { answerFromJson } from "./answer-value.ts";
import { GatewayLetters } from "./dead-letters.ts";
import type { NatsLink } from "./nats.ts";
import type { RemoteWorkers, WorkersOptions } from "./options.ts";
import { type OpenOrder, OrderTokens } from "./order-tokens.ts";
import { type PendingOrder, PendingOrders } from "./pending-orders.ts";
import { type KnownWorker, Presence } from "./presence.ts";
import { notRun, RunFailure } from "./run-failure.ts";
import { PeerKeys, sealed } from "./seal.ts";
import { StoredAnswers } from "./stored-answers.ts";
import type { WorkerKey } from "./worker-key.ts";
import { type AnswerEnd, answerSchema, beatSchema, progressSchema, subjects, type WorkOrder } from "./workers.ts";

export interface DispatcherOptions extends Omit<WorkersOptions, "nats"> {
  readonly link: NatsLink;
  readonly key: WorkerKey;
  /** The opening of the store: names the subjects of this process. */
  readonly fence: string;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
  readonly answerBytes?: number | undefined;
  readonly log: (problem: string) => void;
  /** Writes an event into the audit log. */
  readonly note: (type: string, summary: string, failed: boolean, data: { readonly [name: string]: string }) => void;
  /** The group of each placed tool. */
  readonly groupOf: (tool: string) => string | undefined;
  /** A worker joined or left, or the connection changed. */
  readonly changed: () => void;
}

const lookEveryMs = 250;
/** Answers that came, so that a repeated one is known. */
const mostEnded = 10_000;

/** The gateway's end: sends orders, waits for answers, and knows which workers are there. */
export class Dispatcher implements Workers, RemoteWorkers, AsyncDisposable {
  readonly #options: DispatcherOptions;
  readonly #keys: PeerKeys;
  readonly #presence: Presence;
  readonly #tokens: OrderTokens;
  readonly #stored: StoredAnswers;
  readonly #refused: GatewayLetters;
  readonly #pending: PendingOrders;
  /** Signatures of answers by call. */
  readonly #ended = new Map<string, string>();
  #stopLooking: (() => void) | undefined;
  #closed = false;

  constructor(options: DispatcherOptions) {
    const { clock, leaseMs = 10_000 } = options;
    this.#options = options;
    this.#pending = new PendingOrders(clock, leaseMs);
    this.#keys = new PeerKeys(options.keys);
    this.#presence = new Presence(clock, leaseMs);
    this.#tokens = new OrderTokens(options.artifacts);
    this.#stored = new StoredAnswers({
      ...{ link: options.link, clock: options.clock, keys: this.#keys, tokens: this.#tokens },
      mayAnswer: (group, name) => this.#mayAnswer(group, name),
    });
    const { link, key } = options;
    this.#refused = new GatewayLetters({
      link,
      clock,
      refusedBy: key.publicKey,
      note: (...args) => this.#noted(...args),
    });
  }

  async start(): Promise<void> {
    const { link, fence } = this.#options;
    await link.whenConnected((first) => {
      if (first) this.#subscribe();
      this.#presence.renew();
      for (const pending of this.#pending.all) this.#pending.renew(pending);
      for (const pending of this.#pending.all) void this.#lookForAnswer(pending, fence);
      link.publish(subjects.report, "");
      this.#options.changed();
    });
    this.#look();
  }

  get workers(): readonly KnownWorker[] {
    return this.#presence.list();
  }

  /** The order whose token a worker shows. */
  order(token: string): OpenOrder | undefined {
    return this.#tokens.order(token);
  }

  groupOf({ tool }: Pick<Action, "tool">): string | undefined {
    return this.#options.groupOf(tool);
  }

  /** Why the tool cannot run now. Returns undefined if a worker can run it. */
  problemOf(
    tool: string,
    group: string,
    actions: readonly { readonly name: string; readonly definition: string }[],
  ): string | undefined {
    const { link } = this.#options;
    return link.connected ? this.#presence.problem(group, tool, actions) : link.problem;
  }

  async run(call: ClaimedCall, caller: Caller, context: ToolContext): Promise<unknown> {
    const { clock, maxWaiting = 256 } = this.#options;
    const group = this.groupOf(call.found);
    if (group === undefined || this.#closed) throw notRun("this gateway stops");
    const problem = this.problemOf(call.tool, group, [call.found]);
    if (problem !== undefined) throw notRun(problem);
    const waiting = this.#pending.waitingIn(group);
    if (waiting >= maxWaiting && !this.#hasRoom(group))
      throw notRun(`all workers of group \`${group}\` are busy, and ${waiting} calls wait for them already`);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const pending = this.#pending.add(
      { call, context, group, end: { resolve, reject } },
      timeLeft(call, caller, clock),
    );
    const stop = (): void => this.#cancel(pending);
    context.signal.addEventListener("abort", stop, { once: true });
    this.#pump(group);
    try {
      return await promise;
    } finally {
      context.signal.removeEventListener("abort", stop);
    }
  }

  async endOf(record: CallRecord): Promise<Reconciled> {
    const group = this.groupOf(record.call);
    return group === undefined ? { found: "unknown" } : this.#stored.endOf(record, group);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#stopLooking?.();
    for (const pending of this.#pending.all)
      this.#finish(pending, () => pending.end.reject(new RunFailure("the gateway stopped", { unknown: true })));
    await this.#options.link[Symbol.asyncDispose]();
  }

  // Sending

  #hasRoom(group: string): boolean {
    return this.#pending.sentIn(group) < this.#presence.limitOf(group);
  }

  #pump(group: string): void {
    while (this.#options.link.connected && this.#hasRoom(group)) {
      const pending = this.#pending.next(group);
      if (pending === undefined) return;
      void this.#send(pending);
    }
  }

  async #send(pending: PendingOrder): Promise<void> {
    const { link, key } = this.#options;
    const { call, group } = pending;
    pending.storeMade = link.storeMade;
    const text = sealed("order", this.#orderOf(pending), key);
    if (Buffer.byteLength(text) > link.maxBytes - 1024) {
      const most = `the arguments are larger than a message of NATS (${link.maxBytes} bytes)`;
      return this.#finish(pending, () =>
        pending.end.reject(notRun(`${most}; keep large data as an artifact and name it`)),
      );
    }
    const published = await link.store(subjects.orders(group), text, { id: call.id });
    if (published === "refused")
      this.#finish(pending, () =>
        pending.end.reject(notRun("NATS did not take the order; its stream is missing or full")),
      );
  }

  #orderOf(pending: PendingOrder): WorkOrder {
    const { call, context, group, deadline } = pending;
    const { fence, clock, answerBytes = mostAnswerBytes, url } = this.#options;
    const { id, tool, action, arguments: given, key, approvalId, references, found } = call;
    const { principal, scopes, autonomy, runId, traceId, taskId, stepId, tools } = call.authority;
    const authority = { principal, scopes, autonomy, runId, traceId, taskId, stepId, tools };
    const address = url?.();
    return {
      call: { id, tool, action, arguments: given, authority: withoutUndefined(authority) },
      ...{ key, fence, definition: found.definition, group, references, answerBytes, deadline },
      inlineBytes: context.artifacts.inlineBytes,
      expires: clock.now() + this.#pending.takeMsOf(pending),
      ...(approvalId !== undefined && { approvalId }),
      ...(address !== undefined && { artifacts: { url: address, token: this.#tokens.add(call) } }),
    };
  }

  /** The caller has left, or the time of the call is over. A call that still waits never runs. */
  #cancel(pending: PendingOrder): void {
    const { link, key } = this.#options;
    const { call, group, state } = pending;
    const over = new DOMException("The call is over.", "AbortError"); // its caller has its answer
    this.#finish(pending, () => pending.end.reject(over));
    if (state === "waiting") return;
    link.publish(subjects.cancel(group), sealed("cancel", { callId: call.id, group }, key));
  }

  #finish(pending: PendingOrder, settle: () => void): void {
    if (!this.#pending.remove(pending)) return;
    this.#tokens.remove(pending.call.id);
    settle();
    if (!this.#closed) this.#pump(pending.group);
  }

  // Listening

  #subscribe(): void {
    const { link, fence } = this.#options;
    link.subscribe(subjects.doneOf(fence), (text) => void this.#onAnswer(text));
    link.subscribe(subjects.takenOf(fence), (_text, subject) => this.#onTaken(subject));
    link.subscribe(subjects.progress(fence), (text) => this.#onProgress(text));
    link.subscribe(subjects.everyBeat, (text, subject) => this.#onBeat(text, subject));
    link.subscribe(subjects.everyDead, (text) => this.#refused.note(text));
  }

  #mayAnswer(group: string, name: string): boolean {
    return this.#options.groups[group]?.workers.includes(name) === true;
  }

  async #onAnswer(text: string): Promise<void> {
    const opened = this.#keys.open("answer", text, answerSchema);
    if ("problem" in opened)
      return this.#refused.keep({
        message: "answer",
        reason: opened.problem,
        group: "unknown",
        ...(opened.by && { from: opened.by }),
      });
    const { body, by, signature } = opened;
    const { callId, group, end } = body;
    const letter = { message: "answer", group, from: by, callId } as const;
    const pending = this.#pending.of(callId);
    if (pending === undefined)
      return this.#ended.get(callId) === signature ? undefined : this.#refused.keep({ ...letter, reason: "late" });
    if (!this.#mayAnswer(pending.group, by) || group !== pending.group)
      return this.#refused.keep({ ...letter, reason: "other_group" });
    if (body.key !== pending.call.key || body.fence !== this.#options.fence)
      return this.#refused.keep({ ...letter, reason: "other_call" });
    await this.#accept(pending, end, signature);
  }

  async #accept(pending: PendingOrder, end: AnswerEnd, signature: string): Promise<void> {
    const { call, end: settle } = pending;
    this.#ended.set(call.id, signature);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= mostEnded) break;
      this.#ended.delete(oldest);
    }
    const { principal } = call.authority;
    switch (end.ran) {
      case "returned":
        return this.#finish(pending, () => settle.resolve(answerFromJson(end.value)));
      case "returned_large": {
        const value = await this.#stored
          .large(end.kept, principal)
          .catch((error: unknown) => new LostAnswer(messageOf(error)));
        return this.#finish(pending, () => settle.resolve(value));
      }
      case "threw": {
        const { message, rateLimitResetsAt, details, ...how } = end.failure;
        const error = Object.assign(new RunFailure(message, how), { rateLimitResetsAt, details });
        return this.#finish(pending, () => settle.reject(error));
      }
      case "refused":
        return this.#finish(pending, () => settle.reject(notRun(end.reason)));
      default:
        return end satisfies never;
    }
  }

  #onTaken(subject: string): void {
    const pending = this.#pending.of(subject.slice(subject.lastIndexOf(".") + 1));
    if (pending?.state === "sent" && !pending.checking) this.#pending.take(pending);
  }

  #onProgress(text: string): void {
    const opened = this.#keys.open("progress", text, progressSchema);
    if ("problem" in opened) return;
    const { callId, progress, emitted } = opened.body;
    const pending = this.#pending.of(callId);
    if (pending === undefined || !this.#mayAnswer(pending.group, opened.by)) return;
    if (progress !== undefined) pending.context.progress(progress.content, progress.fraction, progress.count);
    if (emitted !== undefined) pending.context.emit(emitted.type, emitted.summary, emitted.data);
  }

  #onBeat(text: string, subject: string): void {
    const opened = this.#keys.open("beat", text, beatSchema);
    const group = subject.slice(subject.indexOf(".") + 1);
    if ("problem" in opened) {
      this.#refused.keep({ message: "beat", reason: opened.problem, group, ...(opened.by && { from: opened.by }) });
      return;
    }
    const { body, by, publicKey } = opened;
    if (body.group !== group || !this.#mayAnswer(group, by)) {
      this.#refused.keep({ message: "beat", reason: "other_group", group, from: by });
      return;
    }
    const change = this.#presence.see(publicKey, by, body);
    if (change === "old") return;
    for (const callId of body.running) {
      const pending = this.#pending.of(callId);
      if (pending?.group === group && pending.state !== "waiting") this.#pending.take(pending);
    }
    if (change === "joined")
      this.#noted("worker.joined", `Worker ${by} of group ${group} joined`, false, { worker: by, group });
    if (change === "left")
      this.#noted("worker.left", `Worker ${by} of group ${group} left`, false, { worker: by, group });
    if (change !== "stays") this.#options.changed();
    this.#pump(group);
  }

  // Leases

  #look(): void {
    if (this.#closed) return;
    const { link, clock, changed } = this.#options;
    if (link.connected) {
      const gone = this.#presence.expire();
      for (const { name, group } of gone)
        this.#noted("worker.left", `Worker ${name} of group ${group} is silent`, true, { worker: name, group });
      if (gone.length > 0) changed();
    } else changed();
    for (const pending of this.#pending.overdue()) void this.#overdue(pending);
    this.#stopLooking = clock.in(lookEveryMs, () => this.#look(), false);
  }

  async #overdue(pending: PendingOrder): Promise<void> {
    const { link } = this.#options;
    const { group, state, end } = pending;
    if (state === "waiting")
      return this.#finish(pending, () => end.reject(notRun(`no worker of group \`${group}\` was free in time`)));
    if (!link.connected) return; // the lease begins again when it is connected
    pending.checking = true;
    try {
      if (state === "sent") await this.#withdraw(pending);
      else await this.#lose(pending);
    } finally {
      pending.checking = false;
    }
  }

  async #withdraw(pending: PendingOrder): Promise<void> {
    const { link, fence } = this.#options;
    const { call, group, end, storeMade } = pending;
    const published = await link.store(subjects.taken({ fence, key: call.key, callId: call.id }), "withdrawn", {
      once: true,
    });
    if (published === "exists") return this.#pending.take(pending);
    if (published !== "stored") return; // it is tried again
    const error =
      storeMade === link.storeMade
        ? notRun(`no worker of group \`${group}\` took it`)
        : new RunFailure("NATS has lost its streams, so it is not known whether a worker took it", { unknown: true });
    this.#finish(pending, () => end.reject(error));
  }

  async #lose(pending: PendingOrder): Promise<void> {
    await this.#lookForAnswer(pending, this.#options.fence);
    const error = new RunFailure(`its worker of group \`${pending.group}\` stopped answering`, { unknown: true });
    this.#finish(pending, () => pending.end.reject(error));
  }

  /** The answer may have come while the connection was lost. */
  async #lookForAnswer(pending: PendingOrder, fence: string): Promise<void> {
    if (pending.state === "waiting") return;
    const { call, group } = pending;
    const found = await this.#stored.find({ fence, key: call.key, callId: call.id }, group);
    if (found !== undefined) await this.#accept(pending, found.end, found.signature);
  }

  #noted(...args: Parameters<DispatcherOptions["note"]>): void {
    if (!this.#closed) this.#options.note(...args);
  }
}

function withoutUndefined<Members extends object>(
  members: Members,
): { [Name in keyof Members]: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]: Exclude<Members[Name], undefined>;
  }; // a member that was undefined is missing now
}
