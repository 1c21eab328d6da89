import { DatabaseSync } from "node:sqlite";
import { RuntimeFault } from "@postern/core";

/** Goes up with each change of the tables, or of the texts in them. */
const schemaVersion = 8;

/**
 * `call.key` is null when the key is the id of the call. `live_until` is null when a re-send without a key does not find
 * the row. `fence` is null unless the call is attempted. A plain call that has ended is only in the indexes of its id and
 * its run. `event.seq` counts from 0 without gaps.
 */
const tables = `
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

/** "Post" in ASCII: the application id in the header of the file. */
const applicationId = 0x506f7374;

/**
 * Refuses a file that is not a store of Postern, before anything in it is changed.
 *
 * @throws RuntimeFault `store_foreign`, `store_newer` or `store_older`
 */
export function checkOwner(database: DatabaseSync, location: string): void {
  const id = numberIn(database, "pragma application_id");
  const isEmpty = numberIn(database, "select count(*) from sqlite_schema") === 0;
  if (id !== applicationId && (id !== 0 || !isEmpty)) {
    throw new RuntimeFault("store_foreign", `\`${location}\` is a database of something else; name another file.`);
  }
  if (isEmpty) return;
  const version = versionOf(database);
  if (version === undefined) throw foreignTables(location, "`meta` does not say its version");
  if (version === schemaVersion) {
    const difference = differenceIn(database);
    if (difference !== undefined) throw foreignTables(location, difference);
    return;
  }
  const known = `version ${version}; this Postern knows ${schemaVersion}`;
  if (version > schemaVersion) {
    throw new RuntimeFault(
      "store_newer",
      `\`${location}\` was written by a newer Postern (${known}). Install that one, or name another file.`,
    );
  }
  throw new RuntimeFault(
    "store_older",
    `\`${location}\` was written by a Postern from before its first release (${known}). Name another file.`,
  );
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
function differenceIn(database: DatabaseSync): string | undefined {
  using empty = new DatabaseSync(":memory:");
  empty.exec(tables);
  const [found, wanted] = [partsOf(database), partsOf(empty)];
  const missing = [...wanted.keys()].find((part) => !found.has(part));
  if (missing !== undefined) return `the ${missing} is missing`;
  const ours = new Set(wanted.values());
  const added = [...found].find(([part, table]) => part.startsWith("column") && ours.has(table) && !wanted.has(part));
  return added && `the ${added[0]} is not known`;
}

/** The table of each column and each index. */
function partsOf(database: DatabaseSync): ReadonlyMap<string, string> {
  const rows = database
    .prepare(
      `select 'column ' || t.name || '.' || c.name part, t.name owner
         from sqlite_schema t, pragma_table_info(t.name) c where t.type = 'table'
       union all select 'index ' || name, tbl_name from sqlite_schema where type = 'index'`,
    )
    .all();
  return new Map(rows.map(({ part, owner }) => [String(part), String(owner)]));
}

/** Makes the tables of a new file, in one transaction. */
export function createTables(database: DatabaseSync): void {
  if (numberIn(database, "select count(*) from sqlite_schema") > 0) return;
  const stamp = `insert into meta values ('schema', ${schemaVersion})`;
  try {
    database.exec(`begin immediate; pragma application_id = ${applicationId}; ${tables} ${stamp}; commit`);
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}

function numberIn(database: DatabaseSync, sql: string): number {
  const [value] = Object.values(database.prepare(sql).get() ?? {});
  return typeof value === "number" ? value : 0;
}
