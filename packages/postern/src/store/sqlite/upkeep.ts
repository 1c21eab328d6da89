import type { DatabaseSync } from "node:sqlite";
import type { ApprovalRecord, CallRecord, Clock } from "@postern/core";
import { type ErasingBefore, erasableSince, erasedEntry, erasureOfCall, mayEraseRequest } from "../erasing.ts";
import { artifactDigestsIn } from "../references.ts";
import type { StoredKind, StoredSize, StoreUpkeep } from "../store.ts";
import { copyWhileOpen } from "./copies.ts";
import { type CallRow, recordOf } from "./rows.ts";
import { inTransaction } from "./schema.ts";

export interface UpkeepOptions {
  readonly database: DatabaseSync;
  readonly clock: Clock;
  /** Finds a call by its key, or by the id of an arrival of it. */
  readonly find: (key: string) => CallRecord | undefined;
  /** Writes what waits, so that the tables are complete. */
  readonly drain: () => void;
}

/** Rows that are counted, or read, before other work gets a turn. */
const countedATurn = 2048;
const callsATurn = 64;
const entriesATurn = 256;
const countedEveryMs = 300_000;

/** The texts of each kind. Their lengths are in the rows, so long texts are not read. */
const texts: Readonly<Record<Exclude<StoredKind, "documents">, readonly [table: string, bytes: string]>> = {
  calls: ["call", "octet_length(arguments) + octet_length(body) + coalesce(octet_length(outcome), 0)"],
  approvals: ["approval", "octet_length(body)"],
  events: ["event", "octet_length(body)"],
};

/** Sizes, erasing and copies of a store in a file, in turns, on the connection that writes it. */
export class SqliteUpkeep implements StoreUpkeep {
  readonly #options: UpkeepOptions;
  #counted: { readonly at: number; readonly sizes: Promise<readonly StoredSize[]> } | undefined;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  sizes(): Promise<readonly StoredSize[]> {
    const now = this.#options.clock.monotonic();
    if (this.#counted !== undefined && now - this.#counted.at < countedEveryMs) return this.#counted.sizes;
    const sizes = this.#count();
    this.#counted = { at: now, sizes };
    sizes.catch(() => {
      this.#counted = undefined; // the caller gets the error; the next one counts again
    });
    return sizes;
  }

  erase(kind: "calls" | "approvals", where: ErasingBefore): AsyncIterable<number> {
    return kind === "calls" ? this.#eraseCalls(where) : this.#eraseApprovals(where);
  }

  async *erasable(before: number): AsyncGenerator<readonly number[]> {
    const { database, clock, find } = this.#options;
    const list = database.prepare("select seq, body from event where seq >= ? and seq < ? order by seq");
    const end = numberIn(database, "select max(seq) from event");
    for (let from = 0; from <= end; from += entriesATurn) {
      const places: number[] = [];
      let isYoung = false;
      for (const { seq, body } of list.all(from, from + entriesATurn)) {
        const at = erasableSince(String(body), find, clock.now());
        if (at === undefined) continue;
        isYoung ||= at >= before;
        if (!isYoung) places.push(Number(seq));
      }
      yield places;
      if (isYoung) return; // later ones are younger
      await turn();
    }
  }

  async eraseEntries(places: readonly number[]): Promise<void> {
    const { database } = this.#options;
    const read = database.prepare("select body from event where seq = ?");
    const write = database.prepare("update event set body = ? where seq = ?");
    for (let from = 0; from < places.length; from += entriesATurn) {
      erasing(database, () => {
        for (const seq of places.slice(from, from + entriesATurn)) {
          const body = read.get(seq)?.["body"];
          if (body !== undefined) write.run(erasedEntry(String(body)), seq);
        }
      });
      await turn();
    }
  }

  async copyTo(file: string): Promise<void> {
    this.#options.drain();
    await copyWhileOpen(this.#options.database, file);
  }

  async #count(): Promise<readonly StoredSize[]> {
    const { database } = this.#options;
    const found: StoredSize[] = [];
    for (const [kind, [table, length]] of Object.entries(texts) as [keyof typeof texts, readonly [string, string]][]) {
      const last = numberIn(database, `select max(rowid) from ${table}`);
      const some = database.prepare(
        `select count(*) rows, sum(${length}) bytes from ${table} where rowid >= ? and rowid < ?`,
      );
      let [rows, bytes] = [0, 0];
      for (let from = 0; from <= last; from += countedATurn) {
        const counted = some.get(from, from + countedATurn);
        rows += Number(counted?.["rows"]);
        bytes += Number(counted?.["bytes"] ?? 0);
        await turn();
      }
      found.push({ kind, rows, bytes });
    }
    return [...found, await this.#countDocuments()];
  }

  async #countDocuments(): Promise<StoredSize> {
    const some = this.#options.database.prepare(
      `select kind, id, octet_length(body) bytes from document where (kind, id) > (?, ?)
         order by kind, id limit ${countedATurn}`,
    );
    let [rows, bytes] = [0, 0];
    for (let [kind, id] = ["", ""]; ; ) {
      const found = some.all(kind, id);
      rows += found.length;
      for (const row of found) bytes += Number(row["bytes"]);
      const last = found.at(-1);
      if (last === undefined || found.length < countedATurn) return { kind: "documents", rows, bytes };
      [kind, id] = [String(last["kind"]), String(last["id"])];
      await turn();
    }
  }

  async *#eraseCalls(where: ErasingBefore): AsyncGenerator<number> {
    const { database, find, drain } = this.#options;
    const list = database.prepare(
      `select rowid as number, * from call where rowid > ? and state in ('ok', 'failed', 'denied', 'held')
         and body not like '%"erasedAt":%' order by rowid limit ${callsATurn}`,
    );
    const remove = database.prepare("delete from call where id = ?");
    const empty = database.prepare(
      "update call set arguments = '{}', outcome = null, body = json_set(body, '$.erasedAt', ?) where id = ?",
    );
    const release = database.prepare("delete from call_artifact where digest = ? and id = ?");
    for (let after = 0; ; ) {
      drain(); // a row of the list may have changed since the last turn
      let changed = 0;
      const rows = list.all(after).map((row) => row as unknown as CallRow & { readonly number: number }); // all columns of schema.ts
      erasing(database, () => {
        for (const row of rows) {
          const erasure = erasureOfCall(recordOf(row), where, find);
          if (erasure === "keep") continue;
          for (const digest of artifactDigestsIn(`${row.arguments}${row.outcome ?? ""}`)) release.run(digest, row.id);
          if (erasure === "row") remove.run(row.id);
          else empty.run(where.now, row.id);
          changed += 1;
        }
      });
      yield changed;
      const last = rows.at(-1);
      if (last === undefined || rows.length < callsATurn) return;
      after = last.number;
      await turn();
    }
  }

  async *#eraseApprovals(where: ErasingBefore): AsyncGenerator<number> {
    const { database, find, drain } = this.#options;
    const list = database.prepare(
      `select number, body from approval where number > ? order by number limit ${callsATurn}`,
    );
    const remove = database.prepare("delete from approval where number = ?");
    for (let after = 0; ; ) {
      drain();
      let changed = 0;
      const rows = list.all(after);
      erasing(database, () => {
        for (const { number, body } of rows) {
          const request: ApprovalRecord = JSON.parse(String(body));
          if (!mayEraseRequest(request, where, find)) continue;
          remove.run(Number(number));
          changed += 1;
        }
      });
      yield changed;
      if (rows.length < callsATurn) return;
      after = Number(rows.at(-1)?.["number"]);
      await turn();
    }
  }
}

/** One transaction whose freed pages are overwritten with zeros, so that nothing of it can be read in the file. */
function erasing(database: DatabaseSync, body: () => void): void {
  database.exec("pragma secure_delete = on");
  try {
    inTransaction(database, body);
  } finally {
    database.exec("pragma secure_delete = off");
  }
}

function numberIn(database: DatabaseSync, sql: string): number {
  const [value] = Object.values(database.prepare(sql).get() ?? {});
  return typeof value === "number" ? value : -1;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
