import type { ApprovalRecord, CallRecord, StoreWrite } from "@postern/core";
import { documentName, type KnownRows } from "./batch-rows.ts";
import { parsed, type StoredCallRow, type VersionedRow, versioned } from "./rows.ts";
import { fromStored, toStored } from "./text.ts";

/** Runs a query and returns its rows. `name` makes it a prepared statement. */
export type RunQuery = <Row>(query: {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
}) => Promise<readonly Row[]>;

interface Wanted {
  readonly keys: Set<string>;
  readonly matches: Set<string>;
  readonly approvals: Set<string>;
  readonly documents: Map<string, { readonly kind: string; readonly id: string }>;
  readonly scopes: Set<string>;
}

interface ApprovalRow {
  readonly id: string;
  readonly version: string;
  readonly body: string;
}

export interface ReadOptions {
  readonly now: number;
  /** The opening that reads. */
  readonly opening: number;
  readonly run: RunQuery;
}

/** Reads all rows that the rules may look at for these writes. */
export async function readKnown(writes: readonly StoreWrite[], { now, opening, run }: ReadOptions): Promise<KnownRows> {
  const { keys, matches, approvals: asked, documents: named, scopes: judgedBy } = wantedBy(writes);
  const approvals = new Map(await readApprovals([...asked], run));
  for (const { row } of approvals.values()) keys.add(row.key);
  const [calls, live, documents, scopes] = await Promise.all([
    readCalls([...keys], run),
    readLive([...matches], now, run),
    readVersions([...named.values()], run),
    readScopes([...judgedBy], opening, run),
  ]);
  // A failed call answers while its approval can still be used (equal-calls.ts).
  const behind = [...live.values()].flat().flatMap(({ row }) => row.approvalId ?? []);
  for (const [id, row] of await readApprovals(
    behind.filter((id) => !approvals.has(id)),
    run,
  ))
    approvals.set(id, row);
  return { calls, live, approvals, documents, scopes };
}

function wantedBy(writes: readonly StoreWrite[]): Wanted {
  const wanted: Wanted = {
    ...{ keys: new Set(), matches: new Set(), approvals: new Set(), documents: new Map(), scopes: new Set() },
  };
  const document = (kind: string, id: string): void => {
    wanted.documents.set(documentName(kind, id), { kind, id });
  };
  for (const write of writes) {
    switch (write.write) {
      case "hold":
      case "claim":
        wanted.keys.add(write.record.key);
        if (write.record.match !== undefined) wanted.matches.add(write.record.match);
        if (write.write === "hold") wanted.approvals.add(write.approval.id);
        else {
          if (write.use !== undefined) wanted.approvals.add(write.use);
          for (const scope of write.past?.judgedBy ?? []) wanted.scopes.add(scope);
        }
        break;
      case "settle":
        wanted.keys.add(write.key);
        if (write.unspend !== undefined) wanted.approvals.add(write.unspend);
        break;
      case "join":
        wanted.keys.add(write.key);
        break;
      case "decide":
        wanted.approvals.add(write.approval.id);
        if (write.addedDocument !== undefined) document(write.addedDocument.kind, write.addedDocument.id);
        break;
      case "document":
        document(write.kind, write.id);
        break;
      case "note":
        break;
      default:
        write satisfies never;
    }
  }
  return wanted;
}

async function readCalls(
  keys: readonly string[],
  run: RunQuery,
): Promise<ReadonlyMap<string, VersionedRow<CallRecord>>> {
  if (keys.length === 0) return new Map();
  const text = "select * from call where key = any($1)";
  const rows = await run<StoredCallRow>({ name: "calls by key", text, values: [keys.map(toStored)] });
  return new Map(rows.map((row) => [fromStored(row.key), versioned(row)]));
}

async function readLive(
  matches: readonly string[],
  now: number,
  run: RunQuery,
): Promise<ReadonlyMap<string, readonly VersionedRow<CallRecord>[]>> {
  if (matches.length === 0) return new Map();
  const text = "select * from call where match = any($1) and live_until > $2 order by id";
  const rows = await run<StoredCallRow>({ name: "live calls", text, values: [matches.map(toStored), now] });
  return Map.groupBy(rows.map(versioned), ({ row }) => row.match ?? "");
}

export async function readApprovals(
  ids: readonly string[],
  run: RunQuery,
): Promise<readonly (readonly [string, VersionedRow<ApprovalRecord>])[]> {
  if (ids.length === 0) return [];
  const text = "select id, version, body from approval where id = any($1)";
  const rows = await run<ApprovalRow>({ name: "approvals", text, values: [ids.map(toStored)] });
  return rows.map(
    ({ id, version, body }) => [fromStored(id), { version: Number(version), row: parsed(body) }] as const,
  );
}

async function readVersions(
  names: readonly { readonly kind: string; readonly id: string }[],
  run: RunQuery,
): Promise<ReadonlyMap<string, number>> {
  if (names.length === 0) return new Map();
  const text = `select kind, id, version from document join unnest($1::text[], $2::text[]) as x(kind, id) using (kind, id)`;
  const values = [names.map(({ kind }) => toStored(kind)), names.map(({ id }) => toStored(id))];
  const rows = await run<{ kind: string; id: string; version: string }>({ name: "versions", text, values });
  return new Map(
    rows.map(({ kind, id, version }) => [documentName(fromStored(kind), fromStored(id)), Number(version)]),
  );
}

async function readScopes(
  scopes: readonly string[],
  opening: number,
  run: RunQuery,
): Promise<ReadonlyMap<string, number>> {
  if (scopes.length === 0) return new Map();
  const text = "select scope, max(seq) as seq from past where scope = any($1) and opening <> $2 group by scope";
  const values = [scopes.map(toStored), opening];
  const rows = await run<{ scope: string; seq: string }>({ name: "past changes", text, values });
  return new Map(rows.map(({ scope, seq }) => [fromStored(scope), Number(seq)]));
}
