import { setTimeout as pause } from "node:timers/promises";
import type { Answer, Cluster, Gateway } from "./cluster.ts";
import type { Random } from "./random.ts";

/** How a call ended, as its client was told. */
export interface End {
  readonly as: "ok" | "failed" | "denied" | "unknown";
  readonly text: string;
}

/** A call with its own idempotency key, which its client sends until it has an end. */
export interface Call {
  /** The idempotency key. It is in the arguments too, so that the ledger has it. */
  readonly bill: string;
  readonly tool: string;
  readonly ms: number;
  readonly fails: boolean;
  /** What the person says, if one is asked. */
  readonly decision: "approve" | "deny";
  readonly patience: "wait" | "suspend";
  /** It is sent to two gateways at once. */
  readonly twice: boolean;
  /** How long its client waits for an answer at first. A client that leaves cancels the call. */
  readonly patienceMs: number;
  readonly runId: string;
  /** Where it was sent last. */
  at: Gateway;
  /** The answer that must stay; undefined until there is one. */
  end?: End;
  /** A gateway has said that it took the decision. */
  isDecided?: boolean;
  /** What happened to it, for a person who looks for a fault. */
  readonly trace: string[];
}

export interface LoadOptions {
  readonly cluster: Cluster;
  /** One for each client. */
  readonly clients: readonly Random[];
  readonly person: Random;
  readonly problem: (call: Call, what: string) => void;
}

const tools = ["pay_here", "pay_there", "ask_here", "ask_there", "note_here", "note_there"] as const;
const sendsAgain: ReadonlySet<unknown> = new Set(["later", "same-key", "ask-again"]);
const decideEveryMs = 150;
const personPatienceMs = 2_000;
const mostPatienceMs = 10_000;

/** Clients that make calls over HTTP, and a person who decides on another gateway than the one that was asked. */
export class Load {
  /** Of this round. */
  readonly calls = new Map<string, Call>();
  readonly #options: LoadOptions;
  /** How many calls have an end, in all rounds. */
  ended = 0;
  #isOpen = false;
  #open = new Set<Call>();

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  /** Makes calls until `stop`. */
  start(runId: string): void {
    this.calls.clear();
    this.#isOpen = true;
    this.#options.clients.forEach((random, i) => void this.#client(random, `${runId}-${i}`, runId));
    void this.#decideAll();
  }

  /** Makes no new calls. Returns those that have no end when the time is over. */
  async stop(limitMs: number): Promise<readonly Call[]> {
    this.#isOpen = false;
    const until = performance.now() + limitMs;
    while (this.#open.size > 0 && performance.now() < until) await pause(50);
    const stuck = [...this.#open];
    this.#open = new Set(); // the person and the senders stop
    return stuck;
  }

  /** What a gateway answers to the call. Undefined: it is to be sent again. */
  async send(call: Call, gateway: Gateway, patienceMs = mostPatienceMs): Promise<End | undefined> {
    const { bill, tool, ms, fails, patience, runId } = call;
    const body = { tool, arguments: { bill, ms, fails }, idempotency_key: bill, run_id: runId, patience };
    let answer: Answer;
    try {
      answer = await this.#options.cluster.ask(gateway, "/v1/calls", { as: "agent", body, patienceMs });
    } catch (error) {
      trace(call, `${gateway.program.name}: no answer (${nameOf(error)})`);
      return undefined;
    }
    const end = endOf(answer);
    trace(call, `${gateway.program.name}: ${shortOf(answer)}`);
    if (end === "unexpected")
      this.#options.problem(call, `an answer that no client can use: ${JSON.stringify(answer)}`);
    return end === "again" || end === "unexpected" ? undefined : end;
  }

  /** An end that a client was told must stay. Of one that was unknown, more may become known. */
  take(call: Call, end: End, where: string): void {
    const before = call.end;
    if (before === undefined || before.as === "unknown") call.end = end;
    else if (before.as !== end.as || (end.as !== "denied" && before.text !== end.text))
      this.#options.problem(call, `was ${before.as} (${before.text}), and is ${end.as} (${end.text}) on ${where}`);
  }

  async #client(random: Random, name: string, runId: string): Promise<void> {
    for (let n = 1; this.#isOpen; n += 1) {
      const call = this.#newCall(random, `${name}-${n}`, runId);
      this.calls.set(call.bill, call);
      this.#open.add(call);
      await this.#untilEnded(call, random);
      this.#open.delete(call);
      this.ended += 1;
      await pause(random.between(0, 200));
    }
  }

  #newCall(random: Random, bill: string, runId: string): Call {
    return {
      ...{ bill, runId, tool: random.pick(tools), trace: [] },
      ms: random.chance(0.05) ? random.between(2_000, 4_000) : random.between(0, 250),
      fails: random.chance(0.05),
      decision: random.chance(0.1) ? "deny" : "approve",
      patience: random.chance(0.5) ? "wait" : "suspend",
      twice: random.chance(0.1),
      patienceMs: random.pick([2_000, 5_000, mostPatienceMs]),
      at: random.pick(this.#options.cluster.gateways),
    };
  }

  async #untilEnded(call: Call, random: Random): Promise<void> {
    const { gateways } = this.#options.cluster;
    for (let tries = 0; call.end === undefined && this.#open.has(call); tries += 1) {
      const sent = call.twice ? gateways : [call.at];
      const patienceMs = tries < 2 ? call.patienceMs : mostPatienceMs;
      const ends = await Promise.all(
        sent.map(async (gateway) => ({ gateway, end: await this.send(call, gateway, patienceMs) })),
      );
      for (const { gateway, end } of ends) if (end !== undefined) this.take(call, end, gateway.program.name);
      if (call.end !== undefined) return;
      await pause(random.between(100, 400));
      const others = gateways.filter((gateway) => gateway !== call.at || random.chance(0.3));
      const ready = others.filter(({ program }) => program.isReady);
      call.at = random.pick(ready.length > 0 ? ready : gateways);
    }
  }

  async #decideAll(): Promise<void> {
    const { cluster, person } = this.#options;
    while (this.#isOpen || this.#open.size > 0) {
      await pause(decideEveryMs);
      const seenAt = person.pick(cluster.gateways);
      const path = "/v1/approvals?state=pending&limit=100";
      const answer = await cluster.ask(seenAt, path, { patienceMs: personPatienceMs }).catch(() => undefined);
      const waiting = (answer?.body["approvals"] ?? []) as readonly Waiting[];
      await Promise.all(waiting.map((request) => this.#decide(request)));
    }
  }

  /** On another gateway than the one where the call waits, if there is one that runs. */
  async #decide({ approval_id: id, what }: Waiting): Promise<void> {
    const { cluster, person } = this.#options;
    const call = this.calls.get(what.arguments.bill);
    if (call === undefined) return;
    const others = cluster.gateways.filter((gateway) => gateway !== call.at && gateway.program.isReady);
    const at = others.length > 0 ? person.pick(others) : call.at;
    const path = `/v1/approvals/${id}/${call.decision}`;
    const answer = await cluster.ask(at, path, { body: {}, patienceMs: personPatienceMs }).catch(() => undefined);
    trace(call, `${at.program.name}: ${call.decision}: ${answer === undefined ? "no answer" : shortOf(answer)}`);
    if (answer?.status === 200) call.isDecided = true;
  }
}

interface Waiting {
  readonly approval_id: string;
  readonly what: { readonly arguments: { readonly bill: string } };
}

function endOf({ status, body }: Answer): End | "again" | "unexpected" {
  const { text, refusal, error } = body as {
    readonly text?: string;
    readonly refusal?: { readonly code: string; readonly retry: string };
    readonly error?: { readonly code: string };
  };
  if (body["status"] === "ok") return { as: "ok", text: text ?? "" };
  if (status === 202) return "again";
  if (refusal?.code === "outcome_unknown") return { as: "unknown", text: "" };
  if (refusal?.code === "approval_denied") return { as: "denied", text: text ?? "" };
  if (refusal?.code === "tool_failed" && refusal.retry === "never") return { as: "failed", text: text ?? "" };
  if (refusal !== undefined && sendsAgain.has(refusal.retry)) return "again";
  // 408: a gateway that was stopped has not read the whole request in time, so nothing ran.
  return error !== undefined && (status >= 500 || status === 408) ? "again" : "unexpected";
}

function shortOf({ status, body }: Answer): string {
  const { refusal, error } = body as { readonly refusal?: { code: string; message: string }; readonly error?: object };
  const why = refusal === undefined ? (error ?? body["text"]) : `${refusal.code}: ${refusal.message}`;
  return `${status} ${String(body["status"] ?? "")} ${typeof why === "string" ? why : JSON.stringify(why ?? "")}`;
}

/** Equal lines one after the other are one. */
function trace(call: Call, what: string): void {
  if (call.trace.at(-1)?.endsWith(` ${what}`) === true) return;
  call.trace.push(`${new Date().toISOString().slice(11, 23)} ${what}`);
}

function nameOf(error: unknown): string {
  return error instanceof Error ? `${error.name}${error.cause instanceof Error ? `: ${error.cause.message}` : ""}` : "";
}
