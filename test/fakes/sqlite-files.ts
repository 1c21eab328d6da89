import { join } from "node:path";
import {
  openSqliteStore,
  type SqliteStore,
  type SqliteStoreOptions,
} from "../../packages/postern/src/store/sqlite/sqlite-store.ts";
import { serializePlainly } from "../contracts/records.ts";
import { FakeClock } from "./clock.ts";
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
