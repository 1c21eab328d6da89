/** A store that Postern does not know, written only with what a stranger can import: rows as texts in a remote map. */
import { setImmediate as overTheNetwork } from "node:timers/promises";
import { type ApprovalRecord, type CallRecord, type Json, newId, RuntimeFault } from "@postern/core";
import { FakeClock } from "@postern/core/testing";
import { createRuntime, defineTool } from "postern";
import {
  type AudienceFilter,
  answeringRow,
  answersUntil,
  approvalsIn,
  artifactsNeededBy,
  audiencesIn,
  type CallFilter,
  type CallName,
  type Committed,
  type CountedCalls,
  callsIn,
  countsIn,
  type Documents,
  type EntryFilter,
  type EqualCall,
  Followers,
  type GroupFilter,
  groupsIn,
  leftUnknownBy,
  type OpenStore,
  resultOfWrite,
  StatisticRows,
  type StatisticsFilter,
  type Store,
  type StoreContext,
  type StoredRows,
  type StoreEntry,
  type StoreListener,
  type StoreWrite,
  secondEventOf,
  statisticsIn,
  type WaitingFilter,
  type WonWrite,
} from "postern/stores";
import { storeContract } from "postern/testing";
import { expect, it } from "vitest";
import { ownFolder } from "../fakes/own-folder.ts";

/** The database: texts, in the order of their keys. Every verb is a request to it; `write` is all or nothing. */
class RemoteMap {
  readonly #texts = new Map<string, string>();

  async get(key: string): Promise<string | undefined> {
    await overTheNetwork();
    return this.#texts.get(key);
  }

  async scan(prefix: string): Promise<readonly (readonly [key: string, text: string])[]> {
    await overTheNetwork();
    return [...this.#texts].filter(([key]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));
  }

  async write(texts: ReadonlyMap<string, string | undefined>): Promise<void> {
    await overTheNetwork();
    for (const [key, text] of texts) text === undefined ? this.#texts.delete(key) : this.#texts.set(key, text);
  }
}

interface KeptDocument {
  readonly version: number;
  readonly body: Json;
}

const documentsOf = (kind: string): string => `document/${JSON.stringify(kind)}/`;
const rowsWith = (match: string): string => `match/${JSON.stringify(match)}/`;
const countedAt = (key: string): string => `counted/${key}`;
const entryAt = (seq: number): string => `event/${String(seq).padStart(16, "0")}`;

/** The rules ask for rows without waiting. What is not here yet is fetched, and the rules are asked again. */
class FetchedRows implements StoredRows {
  readonly incarnation: string;
  readonly #map: RemoteMap;
  readonly #clock: StoreContext["clock"];
  readonly #known = new Map<string, unknown>();
  readonly #missing: Promise<void>[] = [];

  constructor(map: RemoteMap, incarnation: string, clock: StoreContext["clock"]) {
    this.#map = map;
    this.incarnation = incarnation;
    this.#clock = clock;
  }

  async ask<T>(question: () => T): Promise<T> {
    for (;;) {
      const answer = question();
      if (this.#missing.length === 0) return answer;
      await Promise.all(this.#missing.splice(0));
    }
  }

  /** A row by its key, or the row that had this id when it arrived or when it was left unknown. */
  named(id: string): CallRecord | undefined {
    const own = this.call(id);
    const other = own ?? this.call(this.#parsed<string>(`id/${id}`) ?? "");
    return other !== undefined && [other.key, other.call.id, leftUnknownBy(other)].includes(id) ? other : undefined;
  }

  now = () => this.#clock.now();
  call = (key: string) => this.#parsed<CallRecord>(`call/${key}`);
  approval = (id: string) => this.#parsed<ApprovalRecord>(`approval/${id}`);
  version = (kind: string, id: string) => this.#parsed<KeptDocument>(documentsOf(kind) + id)?.version ?? 0;

  answering(call: EqualCall): CallRecord | undefined {
    const place = rowsWith(call.match);
    const keys = this.#read(place, async () => (await this.#map.scan(place)).map(([key]) => key.slice(place.length)));
    const rows = (keys ?? []).flatMap((key) => this.call(key) ?? []);
    return answeringRow(call, rows, { now: this.now(), approval: this.approval });
  }

  #parsed<T>(key: string): T | undefined {
    return this.#read<T>(key, async () => JSON.parse((await this.#map.get(key)) ?? "null") ?? undefined);
  }

  #read<T>(place: string, fetch: () => Promise<T | undefined>): T | undefined {
    if (!this.#known.has(place)) this.#missing.push(fetch().then((found) => void this.#known.set(place, found)));
    return this.#known.get(place) as T | undefined; // only `fetch` puts something there
  }
}

class MapStore implements Store {
  readonly incarnation: string = newId("inc");
  readonly lost = 0;
  broken: Error | undefined;
  readonly #map: RemoteMap;
  readonly #context: StoreContext;
  readonly #followers: Followers;
  #nextSeq: number;
  #last: Promise<unknown> = Promise.resolve();

  static async open(map: RemoteMap, context: StoreContext): Promise<MapStore> {
    return new MapStore(map, context, (await map.scan("event/")).length);
  }

  private constructor(map: RemoteMap, context: StoreContext, nextSeq: number) {
    this.#map = map;
    this.#context = context;
    this.#followers = new Followers(context.log);
    this.#nextSeq = nextSeq;
  }

  async commit(write: StoreWrite): Promise<Committed> {
    if (this.broken !== undefined) throw this.broken;
    return this.#inTurn(async (rows) => {
      const result = await rows.ask(() => resultOfWrite(write, rows));
      if (!result.won) return result;
      const events = [write.event, secondEventOf(write)].filter((event) => event !== undefined);
      const entries = events.map((event, i): StoreEntry => {
        const named = i === 0 && write.writeId !== undefined && { writeId: write.writeId };
        return { seq: this.#nextSeq + i, body: this.#context.serialize(event), event, ...named };
      });
      await this.#map.write(new Map([...textsOf(result, entries), ...(await this.#countedBy(write))]));
      this.#nextSeq += entries.length;
      this.#followers.notify(entries);
      return { won: true };
    });
  }

  async flush(): Promise<void> {
    await this.#last;
  }

  call = (by: CallName) =>
    this.#inTurn((rows) => rows.ask(() => ("match" in by ? rows.answering(by) : rows.named(by.key))));
  approval = (id: string) => this.#inTurn((rows) => rows.ask(() => rows.approval(id)));

  calls = async (where: CallFilter) => callsIn(await this.#all<CallRecord>("call/"), where, this.#now());
  approvals = async (where: AudienceFilter) => approvalsIn(await this.#requests(), where, this.#now());
  audiences = async (where: WaitingFilter) => audiencesIn(await this.#requests(), where, this.#now());
  groups = async (where: GroupFilter) => groupsIn(await this.#requests(), where, this.#now());
  counts = async (where: Pick<AudienceFilter, "tenant">) =>
    countsIn(await this.#requests(), await this.#all<CallRecord>("call/"), where, this.#now());
  statistics = async (where: StatisticsFilter) => statisticsIn(await this.#counted(), where);

  async stranded(): Promise<readonly CallRecord[]> {
    const rows = await this.#all<CallRecord>("call/");
    return rows.filter(({ state, fence }) => state === "attempted" && fence !== this.incarnation);
  }

  async needed(): Promise<ReadonlySet<string>> {
    return artifactsNeededBy(await this.#all<CallRecord>("call/"), await this.#requests(), this.#now());
  }

  async *events({ after, limit = Infinity }: EntryFilter): AsyncIterable<StoreEntry> {
    for (let seq = Math.max(0, after + 1); seq <= after + limit; seq += 1) {
      const body = await this.#map.get(entryAt(seq));
      if (body === undefined) return;
      yield { seq, body };
    }
  }

  follow = (listener: StoreListener): Disposable => this.#followers.add(listener);

  readonly documents: Documents = {
    get: (kind, id) =>
      this.#inTurn(async () => JSON.parse((await this.#map.get(documentsOf(kind) + id)) ?? "null") ?? undefined),
    list: (kind, prefix) =>
      this.#inTurn(async () => {
        const found = await this.#map.scan(documentsOf(kind) + prefix);
        return found
          .filter(([, text]) => JSON.parse(text).body !== null)
          .map(([key]) => key.slice(documentsOf(kind).length));
      }),
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.broken ??= new RuntimeFault("runtime_closed", "The store is closed.");
    await this.#last;
  }

  /** After everything that was begun before, so that a read sees earlier writes and no write comes between two verbs. */
  #inTurn<T>(work: (rows: FetchedRows) => Promise<T>): Promise<T> {
    const rows = new FetchedRows(this.#map, this.incarnation, this.#context.clock);
    const done = this.#last.then(() => work(rows));
    this.#last = done.catch(() => {}); // its caller gets the error
    return done;
  }

  /** The rows of statistics that this write changes. */
  async #countedBy(write: StoreWrite): Promise<readonly (readonly [key: string, text: string])[]> {
    const added = new StatisticRows();
    added.add(write);
    const texts = [...added.rows].map(async ([key, row]) => {
      const before = JSON.parse((await this.#map.get(countedAt(key))) ?? "null");
      return [countedAt(key), JSON.stringify({ ...row, count: row.count + (before?.count ?? 0) })] as const;
    });
    return Promise.all(texts);
  }

  async #counted(): Promise<ReadonlyMap<string, CountedCalls>> {
    const rows = await this.#inTurn(() => this.#map.scan(countedAt("")));
    return new Map(rows.map(([key, text]) => [key.slice(countedAt("").length), JSON.parse(text)]));
  }

  #now = () => this.#context.clock.now();
  #requests = () => this.#all<ApprovalRecord>("approval/"); // from old to new, because ids grow
  #all = <T>(prefix: string): Promise<T[]> =>
    this.#inTurn(async () => (await this.#map.scan(prefix)).map(([, text]) => JSON.parse(text)));
}

/** What a write that won puts into the map. */
function textsOf({ before, call, approval, document }: WonWrite, entries: readonly StoreEntry[]) {
  const texts = new Map<string, string | undefined>(entries.map(({ seq, body }) => [entryAt(seq), body]));
  if (before?.match !== undefined) texts.set(rowsWith(before.match) + before.key, undefined);
  if (call !== undefined) {
    texts.set(`call/${call.key}`, JSON.stringify(call));
    for (const id of [call.call.id, leftUnknownBy(call)]) texts.set(`id/${id}`, JSON.stringify(call.key));
    if (call.match !== undefined && answersUntil(call) > -Infinity) texts.set(rowsWith(call.match) + call.key, "");
  }
  if (approval !== undefined) texts.set(`approval/${approval.id}`, JSON.stringify(approval));
  if (document !== undefined) {
    const { kind, id, ...kept } = document;
    texts.set(documentsOf(kind) + id, JSON.stringify(kept satisfies KeptDocument));
  }
  return texts;
}

storeContract("a store of texts in a remote map", (context) => MapStore.open(new RemoteMap(), context));

it("holds a call in a store of one's own, runs it once after the approval, and knows it after a restart", async () => {
  const map = new RemoteMap();
  const folder = ownFolder();
  const sent: unknown[] = [];
  const mail = defineTool({
    ...{ name: "mail", description: "Sends a mail.", risk: "high", effects: "write", idempotent: false },
    inputSchema: { type: "object", properties: { to: { type: "string" } } },
    execute: (given) => `sent ${sent.push(given)}`,
  });
  const open = () =>
    createRuntime({
      store: (context) => MapStore.open(map, context),
      ...{ folder, tools: [mail], approvals: { patience: "suspend" } },
    });
  const call = { tool: "mail", arguments: { to: "ann" } };
  const first = await open();
  const held = await first.invoke(call);
  expect(held.status).toBe("pending");
  await first.close();

  await using second = await open();
  await second.approvals.decide(held.approvalId ?? "", { decision: "approved", by: { user: "grace" } });
  const outcomes = await Promise.all([second.invoke(call), second.resume(held.approvalId ?? "")]);
  expect(sent).toEqual([{ to: "ann" }]);
  expect(await second.invoke(call)).toMatchObject({ status: "ok", text: "sent 1", replayed: true });
  expect(outcomes.filter((outcome) => outcome?.status === "ok" && outcome.replayed !== true)).toHaveLength(1);
  expect(await second.audit.verify()).toMatchObject({ intact: true });
});

it("an own store is opened with the runtime's clock, log and serializer, and closed with it", async () => {
  const opened: { readonly store: MapStore; readonly context: StoreContext }[] = [];
  const clock = new FakeClock();
  const open: OpenStore = async (context) => {
    const store = await MapStore.open(new RemoteMap(), context);
    opened.push({ store, context });
    return store;
  };
  const runtime = await createRuntime({ store: open, clock });
  expect(opened).toMatchObject([{ context: { clock, log: expect.any(Function), serialize: expect.any(Function) } }]);
  expect(opened[0]?.context.clock).toBe(clock);
  await runtime.close();
  expect(opened[0]?.store.broken).toMatchObject({ code: "runtime_closed" });
});

it("a function that opens no store is refused with the value", async () => {
  const open = (() => ({ commit: 5 })) as unknown as OpenStore; // as code without types may
  await expect(createRuntime({ store: open })).rejects.toMatchObject({
    code: "options_invalid",
    message: expect.stringContaining("it must open a store."),
  });
});
