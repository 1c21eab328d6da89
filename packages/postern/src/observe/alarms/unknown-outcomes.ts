import { type CallEvent, type CallRecord, type Clock, messageOf, type ToolCall, type Watcher } from "@postern/core";
import type { CallFilter } from "../../store/store.ts";
import type { Alarm, AlarmRaiser } from "./alarms.ts";

export interface UnknownOutcomesOptions {
  readonly store: { calls(where: CallFilter): Promise<readonly CallRecord[]> };
  readonly clock: Clock;
  readonly log: (problem: string) => void;
  readonly alarms: AlarmRaiser & { list(): readonly Alarm[] };
}

/** The calls of a tool in a run share an alarm. */
type ToolInRun = Pick<Required<CallFilter>, "tenant" | "tool" | "runId">;

const kind = "outcome_unknown";
/** An unknown call that runs again is looked for so long after its end, so that a busy run is not looked at for each call. */
const lookAfterMs = 1_000;

/** Raises an alarm while calls of a tool and run are unknown. The store says which are: they outlive this process. */
export class UnknownOutcomes implements AsyncDisposable {
  readonly watcher: Watcher;
  readonly #options: UnknownOutcomesOptions;
  /** Where calls are unknown, as far as this process knows. */
  readonly #open = new Map<string, ToolInRun>();
  readonly #looks = new Map<string, () => void>();
  #turn: Promise<void> = Promise.resolve();

  private constructor(options: UnknownOutcomesOptions) {
    this.#options = options;
    this.watcher = (event) => {
      if (event.moment === "ended") this.#see(event);
    };
  }

  /** Calls that were unknown before are raised too: those of a process that was killed. */
  static async open(options: UnknownOutcomesOptions): Promise<UnknownOutcomes> {
    const { alarms } = options;
    const outcomes = new UnknownOutcomes(options);
    const known = new Map(alarms.list().map((alarm) => [`${alarm.tenant}\0${alarm.key}`, alarm]));
    for (const { call, endedAt = 0 } of (await outcomes.#unsettled()).toReversed()) {
      const place = placeOf(call);
      const alarm = known.get(`${place.tenant}\0${keyOf(place)}`);
      if (alarm?.state === "open" || alarm?.state === "acked") outcomes.#open.set(nameOf(place), place);
      else if (alarm?.resolved === undefined || alarm.resolved.at < endedAt) outcomes.#raise(call);
    }
    const open = new Set([...outcomes.#open.values()].map((place) => `${place.tenant}\0${keyOf(place)}`));
    for (const [name, { kind: of, tenant, key, state }] of known)
      if (of === kind && state !== "resolved" && !open.has(name)) alarms.settle(tenant, key, isOver);
    return outcomes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cancel of this.#looks.values()) cancel();
    await this.#turn;
  }

  #see({ as, call }: Extract<CallEvent, { readonly moment: "ended" }>): void {
    if (as !== "unknown" && as !== "settled" && this.#open.size === 0) return; // nearly every call
    const place = placeOf(call);
    if (as === "unknown" || as === "settled") {
      this.#look(place, as === "unknown");
      return;
    }
    const name = nameOf(place);
    if (!this.#open.has(name) || this.#looks.has(name)) return;
    const look = (): void => {
      this.#looks.delete(name);
      this.#look(place);
    };
    this.#looks.set(name, this.#options.clock.in(lookAfterMs, look, false));
  }

  #raise(call: ToolCall): void {
    const place = placeOf(call);
    const { tenant, tool, runId: run } = place;
    this.#open.set(nameOf(place), place);
    const summary = `A call of \`${tool}\` has an unknown outcome: it may have happened. Find out, and settle it.`;
    const data = { tool, run, agent: call.authority.principal.agent, call: call.id };
    this.#options.alarms.raise({ kind, key: keyOf(place), tenant, severity: "warning", summary, data });
  }

  /** One look after the other, so that the last one counts. */
  #look(place: ToolInRun, hasNew = false): void {
    this.#turn = this.#turn.then(async () => {
      try {
        const [latest] = await this.#unsettled(place);
        if (latest !== undefined && hasNew) this.#raise(latest.call);
        if (latest !== undefined) return;
        this.#open.delete(nameOf(place));
        this.#options.alarms.settle(place.tenant, keyOf(place), isOver);
      } catch (error) {
        this.#options.log(`Calls of unknown outcome could not be looked for: ${messageOf(error)}`);
      }
    });
  }

  /** Those that a person must look at: not what is harmless to repeat, nor what was settled as to be repeated. */
  async #unsettled(where: CallFilter = {}): Promise<readonly CallRecord[]> {
    const found = await this.#options.store.calls({ ...where, state: "unknown", limit: 1_000 });
    return found.filter(({ idempotent, endUnseen }) => !idempotent && endUnseen !== true);
  }
}

const isOver = "every such call is settled, or has ended";

function placeOf({ tool, authority }: ToolCall): ToolInRun {
  return { tenant: authority.principal.tenant, tool, runId: authority.runId };
}

function nameOf({ tenant, tool, runId }: ToolInRun): string {
  return `${tenant}\0${tool}\0${runId}`;
}

function keyOf({ tool, runId }: ToolInRun): string {
  return `${kind}/${tool}/${runId}`;
}
