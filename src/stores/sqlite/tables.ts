import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { numberOf } from "../../calls/ids.ts";
import type { Json } from "../../calls/json.ts";
import type { CallRecord } from "../../calls/records.ts";
import { leftUnknownBy, type NewDocument } from "../rules.ts";
import { ApprovalRows } from "./approvals.ts";
import type { Batch } from "./batch.ts";
import { CallForms } from "./call-forms.ts";
import { addInsertValues, type CallRow, outcomeAt, recordOf, selectCalls, updateSql, updateValues } from "./encode.ts";
import { Inserts } from "./inserts.ts";
import { type Keys, MapKeys, TableKeys } from "./keys.ts";
import { Referring } from "./referring.ts";
import { Waiting } from "./waiting.ts";

/** One transaction's worth. */
export interface Written {
  readonly batch: Batch;
  /** The place of its first event. */
  readonly seq: number;
  readonly watermark: number | undefined;
}

/** Between the entries of one row: JSON text has no bare line ends. */
export const entrySeparator = "\n";
/** So many entries of one transaction share a row, because a row costs as much as an entry. Reading one reads its row. */
const entriesARow = 32;

/** The hot path's statements, prepared once. Anything rarer stands in `queries.ts`. */
export class Tables {
  readonly approvals: ApprovalRows;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #database: DatabaseSync;
  readonly #callForms: CallForms;
  readonly #newCalls: Inserts;
  readonly #newEvents: StatementSync;
  readonly #updateCall: StatementSync;
  readonly #putDocument: StatementSync;
  readonly #putMeta: StatementSync;
  readonly #putChild: StatementSync;
  readonly #callByNumber: StatementSync;
  readonly #keys: Keys;
  readonly #waiting: Waiting;
  readonly #referring: Referring;
  readonly #document: StatementSync;

  /** @param isKept whether anybody opens it again: else keys stand in a Map, and nothing need be found at start-up */
  constructor(database: DatabaseSync, isKept: boolean) {
    this.#database = database;
    this.approvals = new ApprovalRows(database);
    this.#callForms = new CallForms(database);
    this.#begin = database.prepare("begin");
    this.#commit = database.prepare("commit");
    this.#newCalls = new Inserts(database, "call", 13, [16, 4, 1]);
    this.#newEvents = database.prepare("insert into event values (?, ?)");
    this.#updateCall = database.prepare(updateSql);
    this.#putDocument = database.prepare("insert or replace into document values (?, ?, ?, ?)");
    this.#putMeta = database.prepare("insert or replace into meta values (?, ?)");
    this.#putChild = database.prepare("insert or ignore into call_child values (?, ?)");
    this.#callByNumber = database.prepare(`${selectCalls} where call.number = ?`);
    this.#keys = isKept ? new TableKeys(database) : new MapKeys();
    this.#waiting = new Waiting(database, isKept);
    this.#referring = new Referring(database);
    this.#document = database.prepare("select version, body from document where kind = ? and id = ?");
  }

  /** All of it, or it throws and nothing of it is there. */
  write({ batch, seq, watermark }: Written): void {
    try {
      this.#begin.get();
      this.#writeCalls(batch);
      if (batch.approvals.size > 0) for (const approval of batch.approvals.values()) this.approvals.put(approval);
      if (batch.documents.size > 0) for (const document of batch.documents.values()) this.#writeDocument(document);
      if (watermark !== undefined) this.#putMeta.get("watermark", watermark);
      this.#writeEntries(batch, seq);
      this.#commit.get();
      this.#kept();
    } catch (error) {
      this.#undo();
      throw error;
    }
  }

  #kept(): void {
    this.#callForms.committed();
    this.#keys.kept();
    this.#waiting.kept();
  }

  #undo(): void {
    if (this.#database.isTransaction) this.#database.exec("rollback");
    this.#callForms.undo();
    this.#keys.undo();
    this.#waiting.undo();
  }

  /** By its key alone: a row whose first arrival had this id, but which has another key, is not it. */
  callByKey(key: string): CallRecord | undefined {
    const own = this.#rowOfId(key);
    const record = own && recordOf(own);
    if (record?.key === key) return record;
    const found = this.#recordAt(key);
    return found?.key === key ? found : undefined;
  }

  /** The key of the call whose first arrival had this id, or which one of this id left unknown. */
  keyOfId(id: string): string | undefined {
    if (numberOf(id) === undefined) return undefined;
    const row = this.#rowOfId(id);
    if (row !== undefined) return recordOf(row).key;
    const left = this.#recordAt(id);
    return left && leftUnknownBy(left) === id ? left.key : undefined;
  }

  #recordAt(name: string): CallRecord | undefined {
    const number = this.#keys.find(name);
    const row = number === undefined ? undefined : this.#rowOf(this.#callByNumber, number);
    return row && recordOf(row);
  }

  document(kind: string, id: string): { readonly version: number; readonly body: Json } | undefined {
    const row = this.#document.get(kind, id);
    return row && { version: Number(row["version"]), body: JSON.parse(String(row["body"])) };
  }

  /** A number in an id is only where to look. */
  #rowOfId(id: string): CallRow | undefined {
    const number = numberOf(id);
    const row = number === undefined ? undefined : this.#rowOf(this.#callByNumber, number);
    return row?.id === id ? row : undefined;
  }

  #rowOf(statement: StatementSync, value: string | number): CallRow | undefined {
    return statement.get(value) as CallRow | undefined; // the columns are those of schema.ts, written by addInsertValues
  }

  #writeCalls({ calls }: Batch): void {
    const inserts: SQLInputValue[] = [];
    for (const { record, isNew } of calls) {
      const { number, text, parentId } = record.call;
      const form = this.#callForms.numberOf(record);
      if (isNew) {
        const outcome = addInsertValues(inserts, record, form);
        this.#referring.note(number, text, outcome);
        const parent = parentId === undefined ? undefined : numberOf(parentId);
        if (parent !== undefined) this.#putChild.get(parent, number);
      } else {
        const values = updateValues(record, form);
        this.#updateCall.get(...values);
        this.#referring.note(number, values[outcomeAt]);
      }
      if (isNew && record.key !== record.call.id) this.#keys.put(record.key, number);
      const left = leftUnknownBy(record);
      if (left !== undefined) this.#keys.put(left, number);
      this.#waiting.note(record);
    }
    this.#newCalls.write(inserts);
  }

  #writeEntries({ spelled }: Batch, seq: number): void {
    for (let at = 0; at < spelled.length; at += entriesARow) {
      const together = spelled.length <= entriesARow ? spelled : spelled.slice(at, at + entriesARow);
      this.#newEvents.get(seq + at, together.join(entrySeparator));
    }
  }

  #writeDocument({ kind, id, version, body }: NewDocument): void {
    this.#putDocument.get(kind, id, version, JSON.stringify(body));
  }
}
