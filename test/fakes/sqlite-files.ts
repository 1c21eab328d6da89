import { join } from "node:path";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import {
  openSqliteStore,
  type SqliteStore,
  type SqliteStoreOptions,
} from "../../packages/postern/src/store/sqlite/sqlite-store.ts";
import { serializePlainly } from "../../packages/postern/src/testing/records.ts";
import { ownFolder } from "./own-folder.ts";

/** SQLite stores in the test file's own folder, opened by name. */
export function sqliteFiles(): {
  readonly at: (name: string) => string;
  readonly openAt: (name: string, more?: Partial<SqliteStoreOptions>) => SqliteStore;
} {
  const folder = ownFolder();
  const at = (name: string): string => join(folder, name);
  return {
    at,
    openAt: (name, more = {}) =>
      openSqliteStore({ location: at(name), clock: new FakeClock(), serialize: serializePlainly, ...more }),
  };
}
