import {
  type Actor,
  type Clock,
  checkActorFields,
  checkId,
  checkMember,
  isJsonObject,
  type Json,
  messageOf,
  type NotedEvent,
  newTraceId,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import { lazySchema } from "../../checks/zod.ts";
import { type CollectionChange, plainJson } from "../../store/collection.ts";
import { LiveCollection } from "../../store/live-collection.ts";
import type { Store } from "../../store/store.ts";
import type { Alarm, AlarmChange, AlarmFilter, AlarmPage, AlarmRaiser, Alarms, AlarmWord, Cause } from "./alarms.ts";
import { pageOf } from "./page.ts";
import { StoreAlarm, type StoreAlarmOptions, storeAlarmId } from "./store-alarm.ts";

export interface AlarmRepositoryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly policy: { readonly version: string };
  readonly redact: (text: string) => string;
  readonly log: (problem: string) => void;
  /** Reaches people without the store, when it is the store that is broken. */
  readonly urgent?: StoreAlarmOptions["urgent"];
}

/** What an alarm becomes, and the event that says so. A change of the count has no event. */
interface AlarmStep {
  readonly alarm: Alarm;
  readonly event?: Pick<NotedEvent, "type" | "summary" | "outcome" | "by" | "via">;
}

interface ActorAndReason {
  readonly by: Actor;
  readonly reason: string | undefined;
}
type PersonWord = Omit<AlarmWord, "at">;

/** Keys hold names of tools and servers, so a faulty server could make any number of them. */
const mostAlarms = 5_000;
/** Of each text in the data. */
const mostCharacters = 500;
const mostListed = 100;

export class AlarmRepository implements Alarms, AlarmRaiser, AsyncDisposable {
  readonly #options: AlarmRepositoryOptions;
  readonly #alarms: LiveCollection<Alarm | undefined>;
  /**
   * The counts of this process, by id. They are stored with the next change of the alarm and when Postern closes, so a
   * crash loses what came since.
   */
  readonly #seen = new Map<string, Pick<Alarm, "count" | "lastSeen">>();
  /** Ids of those that are open or acked. */
  readonly #raised = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();

  readonly storeAlarm: StoreAlarm;

  private constructor(options: AlarmRepositoryOptions) {
    const { store, log } = options;
    this.#options = options;
    this.#alarms = new LiveCollection<Alarm | undefined>({
      ...{
        store,
        kind: "alarm",
        write: (alarm) => (alarm === undefined ? null : plainJson({ ...alarm, id: undefined })),
      },
      read: (body, id) => {
        const alarm = alarmIn(id, body);
        if (alarm === undefined) log(`The alarm \`${id}\` in the store is not what Postern writes.`);
        return alarm;
      },
      updated: (alarm) => {
        if (alarm === undefined) return;
        if (alarm.state !== "resolved") this.#raised.add(alarm.id);
        else {
          this.#raised.delete(alarm.id);
          this.#seen.delete(alarm.id);
        }
      },
    });
    this.storeAlarm = new StoreAlarm({ urgent: () => undefined, ...options });
  }

  static async open(options: AlarmRepositoryOptions): Promise<AlarmRepository> {
    const alarms = new AlarmRepository(options);
    await alarms.#alarms.readAll();
    return alarms;
  }

  list(where?: AlarmFilter): readonly Alarm[] {
    return this.page(where).alarms;
  }

  page(where: AlarmFilter = {}): AlarmPage {
    const stored = this.#alarms.items.flatMap((alarm) => (alarm === undefined ? [] : [this.#counted(alarm)]));
    return pageOf([...stored, this.storeAlarm.alarm ?? []].flat(), where);
  }

  get(id: string): Alarm | undefined {
    checkId(id, "alarm");
    if (id === storeAlarmId) return this.storeAlarm.alarm;
    const alarm = this.#alarms.at(id);
    return alarm && this.#counted(alarm);
  }

  isRaised(tenant: string, key: string): boolean {
    return this.#raised.size > 0 && this.#raised.has(alarmId(tenant, key));
  }

  get isQuiet(): boolean {
    return this.#raised.size === 0;
  }

  raise(cause: Cause): void {
    const id = alarmId(cause.tenant, cause.key);
    const at = this.#options.clock.now();
    if (this.#seen.has(id) || this.#raised.has(id)) {
      const { count = 0 } = this.#seen.get(id) ?? this.#alarms.at(id) ?? {};
      this.#seen.set(id, { count: count + 1, lastSeen: at });
      return;
    }
    if (this.#alarms.size >= mostAlarms && !this.#alarms.has(id)) {
      this.#options.log(`There are ${mostAlarms} alarms; this one was not stored: ${cause.summary}`);
      return;
    }
    this.#seen.set(id, { count: 1, lastSeen: at });
    this.#later(id, cause.summary, (before) => {
      if (before !== undefined && before.state !== "resolved") {
        this.#seen.delete(id); // another process was faster: the count goes on from its count
        this.raise(cause);
        return undefined;
      }
      return {
        alarm: this.#opened(id, cause, at),
        event: { type: `alarm.${cause.kind}`, summary: cause.summary, outcome: "failure" },
      };
    });
    this.#turn = this.#turn.then(() => {
      if (!this.#raised.has(id)) this.#seen.delete(id); // it could not be written; the next cause opens it
    });
  }

  settle(tenant: string, key: string, reason: string): void {
    const id = alarmId(tenant, key);
    this.#later(id, key, (before) =>
      before === undefined || before.state === "resolved" ? undefined : this.#step("resolve", before, { reason }),
    );
  }

  acknowledge(id: string, by: Actor, reason?: string): Promise<AlarmChange> {
    return this.#byPerson("acknowledge", id, { by, reason });
  }

  resolve(id: string, by: Actor, reason?: string): Promise<AlarmChange> {
    return this.#byPerson("resolve", id, { by, reason });
  }

  /** What was raised and counted is written before the store closes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
    if (this.#options.store.broken !== undefined) return;
    for (const [id, { count }] of this.#seen)
      if (count !== this.#alarms.at(id)?.count) this.#later(id, "its count", (before) => before && { alarm: before });
    await this.#turn;
  }

  /** What a person, or the end of its cause, makes of an alarm that is not resolved. */
  #step(verb: "acknowledge" | "resolve", before: Alarm, word: PersonWord): AlarmStep | undefined {
    const { reason: _reason, ...by } = word;
    const dated = { ...word, at: this.#options.clock.now() };
    if (verb === "resolve")
      return {
        alarm: { ...before, state: "resolved", resolved: dated },
        event: { type: "alarm.resolved", summary: `Over: ${before.summary}`, outcome: "success", ...by },
      };
    if (before.state === "acked") return undefined;
    return {
      alarm: { ...before, state: "acked", acked: dated },
      event: { type: "alarm.acknowledged", summary: `Acknowledged: ${before.summary}`, outcome: "info", ...by },
    };
  }

  #opened(id: string, { kind, key, tenant, severity, summary, data = {} }: Cause, at: number): Alarm {
    const { redact } = this.#options;
    const clean = cleaned(data, redact);
    return {
      ...{ id, kind, key: redact(key), tenant, severity, summary: redact(summary), state: "open", count: 1 },
      ...{ firstSeen: at, lastSeen: at, data: isJsonObject(clean) ? clean : {} },
    };
  }

  /** @throws RuntimeFault `request_invalid` */
  async #byPerson(verb: "acknowledge" | "resolve", id: string, { by, reason }: ActorAndReason): Promise<AlarmChange> {
    checkActorFields(by, "request_invalid");
    if (reason !== undefined) checkMember("reason", reason, "a text", "request_invalid");
    const word = { by: by.by, via: by.via, ...(reason !== undefined && { reason: this.#options.redact(reason) }) };
    let refused: AlarmChange | undefined;
    if (id === storeAlarmId) {
      refused = refusalOf(id, this.storeAlarm.alarm);
      if (refused === undefined) this.storeAlarm[verb](word);
    } else {
      const made = this.#turn.then(() =>
        this.#change(id, (before) => {
          refused = refusalOf(id, before);
          if (refused !== undefined || before === undefined) return undefined;
          return this.#step(verb, before, word);
        }),
      );
      this.#turn = made.catch(() => undefined); // its caller has the rejection
      await made;
    }
    const alarm = this.get(id);
    return refused ?? (alarm === undefined ? unknownAlarm(id) : { changed: true, alarm });
  }

  /** Changes run one after the other, and the caller does not wait. */
  #later(id: string, what: string, next: (before: Alarm | undefined) => AlarmStep | undefined): void {
    this.#turn = this.#turn
      .then(() => this.#change(id, next))
      .catch((error: unknown) => this.#options.log(`The alarm could not be written: ${what} (${messageOf(error)})`));
  }

  async #change(id: string, next: (before: Alarm | undefined) => AlarmStep | undefined): Promise<void> {
    await this.#alarms.change(id, (before): CollectionChange<Alarm> | undefined => {
      const step = next(before && this.#counted(before));
      if (step === undefined) return undefined;
      const event = step.event && this.#eventOf(step.alarm, step.event);
      return { item: step.alarm, event, durability: "committed" };
    });
  }

  #eventOf(alarm: Alarm, event: NonNullable<AlarmStep["event"]>): NotedEvent {
    const { clock, policy } = this.#options;
    const { id, kind, key, severity, count, data, resolved } = alarm;
    const reason = event.type === "alarm.resolved" ? resolved?.reason : undefined;
    return {
      ...{
        moment: "noted",
        at: clock.now(),
        traceId: newTraceId(),
        policyVersion: policy.version,
        tenant: alarm.tenant,
        ...event,
      },
      data: { ...data, alarm_id: id, kind, severity, dedupe_key: key, count, ...(reason !== undefined && { reason }) },
    };
  }

  #counted(alarm: Alarm): Alarm {
    return alarm.state === "resolved" ? alarm : { ...alarm, ...this.#seen.get(alarm.id) };
  }
}

function unknownAlarm(id: string): AlarmChange {
  return { changed: false, why: "alarm_unknown", message: `There is no alarm \`${id.slice(0, 64)}\`.` };
}

/** Returns undefined if a person may change the alarm. */
function refusalOf(id: string, alarm: Alarm | undefined): AlarmChange | undefined {
  if (alarm === undefined) return unknownAlarm(id);
  if (alarm.state !== "resolved") return undefined;
  return { changed: false, why: "alarm_resolved", message: `The alarm \`${id}\` is over already.` };
}

function alarmId(tenant: string, key: string): string {
  return `alm_${sha256(`${tenant}\0${key}`).slice(0, 24)}`;
}

const schema = lazySchema((zod) => {
  const [text, number] = [zod.string(), zod.number()];
  return zod.looseObject({
    ...{ kind: text, key: text, tenant: text, summary: text, count: number, firstSeen: number, lastSeen: number },
    severity: zod.enum(["warning", "critical"]),
    state: zod.enum(["open", "acked", "resolved"]),
    data: zod.looseObject({}),
  });
});

/** Returns undefined if Postern did not write it. */
function alarmIn(id: string, body: Json): Alarm | undefined {
  const parsed = schema().safeParse(body);
  return parsed.success ? ({ ...parsed.data, id } as unknown as Alarm) : undefined; // every required field was checked
}

function cleaned(value: Json, redact: (text: string) => string): Json {
  if (typeof value === "string") return redact(value).slice(0, mostCharacters);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, mostListed).map((inner: Json) => cleaned(inner, redact));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cleaned(inner, redact)]));
}
