import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeContract } from "../../../test/contracts/store-contract.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-store-"));
let files = 0;

storeContract("SqliteStore in memory", (options) =>
  openSqliteStore({ ...options, location: ":memory:" }),
);
storeContract("SqliteStore in a file", (options) =>
  openSqliteStore({ ...options, location: join(folder, `${files++}.db`) }),
);
