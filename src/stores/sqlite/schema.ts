import type { DatabaseSync } from "node:sqlite";
import { RuntimeFault } from "../../calls/fault.ts";
import { first } from "./migrations/0001-first.ts";
import { artifacts } from "./migrations/0002-artifacts.ts";
import { forms } from "./migrations/0003-forms.ts";
import { audiences } from "./migrations/0004-audiences.ts";
import { urgency } from "./migrations/0005-urgency.ts";
import { children } from "./migrations/0006-children.ts";

/** In their order, never changed once released: the schema's version is how many were run. */
export const migrations: readonly string[] = [first, artifacts, forms, audiences, urgency, children];

/** "Post" in ASCII, in the header of the file: how `file(1)` and we know it. */
const applicationId = 0x506f7374;

/**
 * Refuses what is not ours before anything is changed in it.
 *
 * @throws RuntimeFault `store_foreign` or `store_newer`
 */
export function checkOwner(database: DatabaseSync, location: string): void {
  const id = numberIn(database, "pragma application_id");
  const tables = numberIn(database, "select count(*) from sqlite_schema");
  if (id !== applicationId && (id !== 0 || tables > 0)) {
    throw new RuntimeFault("store_foreign", `\`${location}\` is a database of something else; name another file.`);
  }
  const version = tables === 0 ? 0 : numberIn(database, "select value from meta where name = 'schema'");
  if (version > migrations.length) {
    const known = `version ${version}; this Postern knows ${migrations.length}`;
    throw new RuntimeFault(
      "store_newer",
      `\`${location}\` was written by a newer Postern (${known}). Install that one, or name another file.`,
    );
  }
}

/** Brings the tables up to date, in one transaction. */
export function migrate(database: DatabaseSync): void {
  const isNew = numberIn(database, "select count(*) from sqlite_schema") === 0;
  const version = isNew ? 0 : numberIn(database, "select value from meta where name = 'schema'");
  const steps = migrations.slice(version).join("");
  const stamp = `insert or replace into meta values ('schema', ${migrations.length})`;
  try {
    database.exec(`begin immediate; pragma application_id = ${applicationId}; ${steps} ${stamp}; commit`);
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}

function numberIn(database: DatabaseSync, sql: string): number {
  const [value] = Object.values(database.prepare(sql).get() ?? {});
  return typeof value === "number" ? value : 0;
}
