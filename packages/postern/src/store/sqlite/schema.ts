import { DatabaseSync } from "node:sqlite";
import { RuntimeFault } from "@postern/core";
import { schemaStep9 } from "./schema-step-9.ts";

/** What one Postern knows of the tables, and how it makes them from older ones. */
export interface Schema {
  /** Goes up with each change of the tables, or of the texts in them. */
  readonly version: number;
  /** SQL that makes the tables of this version. */
  readonly tables: string;
  /** By the version that it makes from the one before. */
  readonly steps: ReadonlyMap<number, SchemaStep>;
}

/**
 * A step first only adds (`runsFrom` is the version before it): the Postern of the step before still runs on the store,
 * and leaves the new columns null. What that one used is removed by a later step, which raises `runsFrom`.
 */
export interface SchemaStep {
  readonly sql: string;
  /** The oldest version whose Postern may use the store after this step. */
  readonly runsFrom: number;
}

/**
 * `call.key` is null when the key is the id of the call. `live_until` is null when a re-send without a key does not find
 * the row. `fence` is null unless the call is attempted. A plain call that has ended is only in the indexes of its id and
 * its run. `event.seq` counts from 0 without gaps.
 */
export const tablesOfVersion8: string = `
create table meta (name text primary key, value not null) without rowid;
create table call (
  id text primary key, key text, left_by text, match text, live_until integer, fence text, state text not null,
  tool text not null, tenant text not null, run text not null, parent text, alive_until, arguments text not null,
  body text not null, outcome text
);
create unique index call_key on call (key) where key is not null;
create index call_left_by on call (left_by) where left_by is not null;
create index call_live on call (match) where live_until is not null;
create index call_open on call (fence) where fence is not null;
create index call_parent on call (parent, id) where parent is not null;
create index call_run on call (run, id);
create table call_artifact (digest text, id text, primary key (digest, id)) without rowid;
create table approval (
  number integer primary key, id text not null unique, state text not null, tenant text not null, tool text not null,
  risk text not null, agent text not null, user text, run text not null, audience text not null, urgency integer not null,
  body text not null
);
create index approval_pending on approval (urgency, number, audience) where state = 'pending';
create index approval_state on approval (state, number);
create table event (seq integer primary key, body text not null);
create table document (
  kind text, id text, version integer not null, body text not null, primary key (kind, id)
) without rowid;
`;

export const currentSchema: Schema = {
  version: 9,
  tables: tablesOfVersion8 + schemaStep9,
  steps: new Map([[9, { sql: schemaStep9, runsFrom: 9 }]]),
};

/** "Post" in ASCII: the application id in the header of the file. */
const applicationId = 0x506f7374;

/**
 * Refuses a file that is not a store of Postern or that this one cannot use, before anything in it is changed. Returns
 * the version of its tables; undefined if it has none yet.
 *
 * @throws RuntimeFault `store_foreign`, `store_newer` or `store_older`
 */
export function checkOwner(database: DatabaseSync, location: string, schema: Schema): number | undefined {
  const id = numberIn(database, "pragma application_id");
  const isEmpty = numberIn(database, "select count(*) from sqlite_schema") === 0;
  if (id !== applicationId && (id !== 0 || !isEmpty)) {
    throw new RuntimeFault("store_foreign", `\`${location}\` is a database of something else; name another file.`);
  }
  if (isEmpty) return undefined;
  const version = versionOf(database);
  if (version === undefined) throw foreignTables(location, "`meta` does not say its version");
  const known = `version ${version}; this Postern knows ${schema.version}`;
  if (version > schema.version && runsFrom(database, version) > schema.version) {
    throw new RuntimeFault(
      "store_newer",
      `\`${location}\` was written by a newer Postern (${known}). Install that one, or name another file.`,
    );
  }
  if (stepsAfter(version, schema) === undefined) {
    throw new RuntimeFault(
      "store_older",
      `\`${location}\` was written by a Postern from before its first release (${known}). Name another file.`,
    );
  }
  const difference = version === schema.version ? differenceIn(database, schema) : undefined;
  if (difference !== undefined) throw foreignTables(location, difference);
  return version;
}

/**
 * Makes tables of this version from older ones, in one transaction.
 *
 * @throws RuntimeFault `store_foreign` if they are not what the steps make of them; then nothing was changed
 */
export function upgradeTables(database: DatabaseSync, location: string, from: number, schema: Schema): void {
  const steps = stepsAfter(from, schema) ?? [];
  const last = steps.at(-1);
  if (last === undefined) return;
  inTransaction(database, () => {
    for (const { sql } of steps) database.exec(sql);
    const mark = database.prepare("insert or replace into meta values (?, ?)");
    mark.run("schema", schema.version);
    mark.run("runs_from", Math.max(...steps.map((step) => step.runsFrom)));
    const difference = differenceIn(database, schema);
    if (difference !== undefined) throw foreignTables(location, difference);
  });
}

/** Undefined if a step is missing: the tables are too old. */
function stepsAfter(from: number, { version, steps }: Schema): readonly SchemaStep[] | undefined {
  const found: SchemaStep[] = [];
  for (let next = from + 1; next <= version; next += 1) {
    const step = steps.get(next);
    if (step === undefined) return undefined;
    found.push(step);
  }
  return found;
}

/** The oldest version that may use the store. */
function runsFrom(database: DatabaseSync, version: number): number {
  return numberIn(database, "select value from meta where name = 'runs_from'") || version;
}

function foreignTables(location: string, why: string): RuntimeFault {
  const message = `\`${location}\` has not the tables of a store of Postern: ${why}. Restore it from a copy, or name another file.`;
  return new RuntimeFault("store_foreign", message);
}

function versionOf(database: DatabaseSync): number | undefined {
  const hasMeta = partsOf(database).has("column meta.value");
  const version = hasMeta ? numberIn(database, "select value from meta where name = 'schema'") : 0;
  return version === 0 ? undefined : version;
}

/** Compares with a new store. Tables and indexes that another program added change nothing. */
function differenceIn(database: DatabaseSync, schema: Schema): string | undefined {
  using empty = new DatabaseSync(":memory:");
  empty.exec(schema.tables);
  const [found, wanted] = [partsOf(database), partsOf(empty)];
  const missing = [...wanted.keys()].find((part) => !found.has(part));
  if (missing !== undefined) return `the ${missing} is missing`;
  const ours = new Set(wanted.values());
  const added = [...found].find(([part, table]) => part.startsWith("column") && ours.has(table) && !wanted.has(part));
  return added && `the ${added[0]} is not known`;
}

/** The table of each column, index and trigger. */
function partsOf(database: DatabaseSync): ReadonlyMap<string, string> {
  const rows = database
    .prepare(
      `select 'column ' || t.name || '.' || c.name part, t.name owner
         from sqlite_schema t, pragma_table_info(t.name) c where t.type = 'table'
       union all select type || ' ' || name, tbl_name from sqlite_schema where type in ('index', 'trigger')`,
    )
    .all();
  return new Map(rows.map(({ part, owner }) => [String(part), String(owner)]));
}

/** Makes the tables of a new file, in one transaction. */
export function createTables(database: DatabaseSync, schema: Schema): void {
  if (numberIn(database, "select count(*) from sqlite_schema") > 0) return;
  inTransaction(database, () => {
    const stamp = `insert into meta values ('schema', ${schema.version})`;
    database.exec(`pragma application_id = ${applicationId}; ${schema.tables} ${stamp}`);
  });
}

export function inTransaction(database: DatabaseSync, body: () => void): void {
  database.exec("begin immediate");
  try {
    body();
    database.exec("commit");
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}

function numberIn(database: DatabaseSync, sql: string): number {
  const [value] = Object.values(database.prepare(sql).get() ?? {});
  return typeof value === "number" ? value : 0;
}
