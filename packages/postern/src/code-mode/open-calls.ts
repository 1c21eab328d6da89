/**
 * The calls of a script that have no result yet. As many run at once as a script may have in flight, in the order in
 * which it made them; a stopped script begins no more.
 */
import type { ToolOutcome } from "@postern/core";
import type { AskedCall, SettledCall } from "@postern/core/sandbox";
import { answerHost, settledOf } from "./answers.ts";
import type { ScriptRun } from "./script-run.ts";

export interface CallAnswer {
  readonly asked: AskedCall;
  readonly settled: SettledCall;
  /** Undefined when Postern answered and no tool was called. */
  readonly outcome: ToolOutcome | undefined;
}

interface OpenCall {
  readonly asked: AskedCall;
  /** Resolves to undefined when the script was stopped before the call began. */
  readonly ended: PromiseWithResolvers<CallAnswer | undefined>;
  answer?: CallAnswer;
}

export class OpenCalls {
  readonly #run: ScriptRun;
  /** By place, in the order in which they were made. */
  readonly #calls = new Map<number, OpenCall>();
  readonly #queue: OpenCall[] = [];
  #running = 0;

  constructor(run: ScriptRun) {
    this.#run = run;
  }

  get isEmpty(): boolean {
    return this.#calls.size === 0;
  }

  get asked(): readonly AskedCall[] {
    return [...this.#calls.values()].map(({ asked }) => asked);
  }

  begin(calls: readonly AskedCall[]): void {
    for (const asked of calls) {
      const call: OpenCall = { asked, ended: Promise.withResolvers() };
      call.ended.promise.catch(() => undefined); // `ended` rejects with the same error
      this.#calls.set(asked.place, call);
      this.#queue.push(call);
    }
    while (this.#running < this.#run.facts.host.terms.callsAtOnce && this.#queue.length > 0) void this.#lane();
  }

  /** Resolves when these calls have ended. Rejects with the error of a call that broke. */
  async ended(calls: readonly AskedCall[]): Promise<void> {
    await Promise.all(calls.map(({ place }) => this.#calls.get(place)?.ended.promise));
  }

  /** The answers so far, in the order of the calls. */
  get answers(): readonly CallAnswer[] {
    return [...this.#calls.values()].flatMap(({ answer }) => answer ?? []);
  }

  /** The answers of calls that wait for a person. */
  get held(): readonly CallAnswer[] {
    return this.answers.filter(({ outcome }) => outcome?.status === "pending");
  }

  /** The script gets the answers of these calls. */
  close(answers: readonly CallAnswer[]): void {
    for (const { asked } of answers) this.#calls.delete(asked.place);
  }

  async #lane(): Promise<void> {
    this.#running += 1;
    for (let call = this.#queue.shift(); call !== undefined; call = this.#queue.shift()) {
      try {
        await this.#run.pace.next();
        if (this.#run.watch.stopped === undefined) call.answer = await this.#answer(call.asked);
        call.ended.resolve(call.answer);
      } catch (error) {
        call.ended.reject(error);
      }
    }
    this.#running -= 1;
  }

  async #answer(asked: AskedCall): Promise<CallAnswer> {
    const run = this.#run;
    run.journal.use(asked.arguments);
    if (asked.kind !== undefined && asked.kind !== "call")
      return { asked, settled: await answerHost(asked, run), outcome: undefined };
    const outcome = await run.call(asked);
    return { asked, settled: await settledOf(asked.place, outcome, run), outcome };
  }
}
