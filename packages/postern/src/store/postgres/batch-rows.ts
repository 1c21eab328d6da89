import type { ApprovalRecord, CallRecord } from "@postern/core";
import { answeringRow, type EqualCall } from "../equal-calls.ts";
import type { NewDocument, StoredRows, WonWrite } from "../rules.ts";
import type { VersionedRow } from "./rows.ts";

/** Rows as they were read, at several moments, or are assumed to be. A row that is missing here is assumed to be missing in the database. */
export interface KnownRows {
  readonly calls: ReadonlyMap<string, VersionedRow<CallRecord>>;
  /** The rows that may answer an equal call, by their `match`. */
  readonly live: ReadonlyMap<string, readonly VersionedRow<CallRecord>[]>;
  readonly approvals: ReadonlyMap<string, VersionedRow<ApprovalRecord>>;
  /** The versions of documents, by `documentName`. */
  readonly documents: ReadonlyMap<string, number>;
  /** The entry with which another process changed a scope of past calls last. */
  readonly scopes: ReadonlyMap<string, number>;
}

export interface BatchRowsOptions {
  readonly incarnation: string;
  readonly now: number;
  readonly known: KnownRows;
}

/** No row has it. */
const noVersion = -1;

/**
 * The rows that a batch is decided on: those that it has decided itself, before those that are known.
 *
 * Invariant: every row that a rule looked at is in one of the `checked…` maps, with the version that it must still have
 * when the batch is written. So a wrong assumption costs one more round, and never a wrong decision.
 */
export class BatchRows implements StoredRows {
  readonly incarnation: string;
  readonly checkedCalls: Map<string, number> = new Map();
  /** How many live rows each `match` had. Those rows are in `checkedCalls`. */
  readonly checkedMatches: Map<string, number> = new Map();
  readonly checkedApprovals: Map<string, number> = new Map();
  readonly checkedDocuments: Map<string, number> = new Map();
  /** No other process may have changed a scope after this entry. */
  readonly checkedScopes: Map<string, number> = new Map();
  readonly calls: Map<string, VersionedRow<CallRecord>> = new Map();
  readonly approvals: Map<string, VersionedRow<ApprovalRecord>> = new Map();
  readonly documents: Map<string, NewDocument> = new Map();
  readonly scopes: Set<string> = new Set();
  readonly #now: number;
  readonly #known: KnownRows;

  constructor({ incarnation, now, known }: BatchRowsOptions) {
    this.incarnation = incarnation;
    this.#now = now;
    this.#known = known;
  }

  now(): number {
    return this.#now;
  }

  call(key: string): CallRecord | undefined {
    const own = this.calls.get(key);
    if (own !== undefined) return own.row;
    const known = this.#known.calls.get(key);
    this.#checkCall(key, known?.version ?? 0);
    return known?.row;
  }

  answering(call: EqualCall): CallRecord | undefined {
    const { match } = call;
    const known = this.#known.live.get(match) ?? [];
    this.checkedMatches.set(match, known.length);
    for (const { version, row } of known) this.#checkCall(row.key, version);
    const rows = known.map(({ row }) => row).filter(({ key }) => !this.calls.has(key));
    for (const { row } of this.calls.values()) if (row.match === match) rows.push(row);
    return answeringRow(call, rows, { now: this.#now, approval: (id) => this.approval(id) });
  }

  /** `calls` and `live` were read at two moments. No batch is written that was decided on two versions of a row. */
  #checkCall(key: string, version: number): void {
    const before = this.checkedCalls.get(key) ?? version;
    this.checkedCalls.set(key, before === version ? version : noVersion);
  }

  approval(id: string): ApprovalRecord | undefined {
    const own = this.approvals.get(id);
    if (own !== undefined) return own.row;
    const known = this.#known.approvals.get(id);
    this.checkedApprovals.set(id, known?.version ?? 0);
    return known?.row;
  }

  /** Whether the database has no row with this key. */
  isNew(key: string): boolean {
    return this.checkedCalls.get(key) === 0;
  }

  version(kind: string, id: string): number {
    const name = documentName(kind, id);
    const own = this.documents.get(name);
    if (own !== undefined) return own.version;
    const known = this.#known.documents.get(name) ?? 0;
    this.checkedDocuments.set(name, known);
    return known;
  }

  changedByOthers(scope: string, upTo: number): number | undefined {
    const known = this.#known.scopes.get(scope) ?? -1;
    const checked = Math.max(known, upTo);
    this.checkedScopes.set(scope, Math.min(checked, this.checkedScopes.get(scope) ?? checked));
    return known > upTo ? known : undefined;
  }

  /**
   * Takes what a write that won stores. A new row of a call begins with the time as its version: a batch that was decided
   * on an erased row with the same key finds another version.
   */
  take({ call, approval, document, scopes = [] }: WonWrite): void {
    for (const scope of scopes) this.scopes.add(scope);
    if (call !== undefined) {
      this.call(call.key); // so that the version it replaces is checked
      this.calls.set(call.key, { version: (this.checkedCalls.get(call.key) || this.#now) + 1, row: call });
    }
    if (approval !== undefined) {
      this.approval(approval.id);
      this.approvals.set(approval.id, { version: (this.checkedApprovals.get(approval.id) ?? 0) + 1, row: approval });
    }
    if (document !== undefined) this.documents.set(documentName(document.kind, document.id), document);
  }
}

export function documentName(kind: string, id: string): string {
  return JSON.stringify([kind, id]);
}

/** The kind and the id. */
export function namesOf(name: string): readonly [kind: string, id: string] {
  return JSON.parse(name); // `documentName` made it
}
