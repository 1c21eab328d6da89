import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { storeContract } from "../../../test/contracts/store-contract.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-store-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

storeContract("SqliteStore in memory", (options) => openSqliteStore({ ...options, location: ":memory:" }));
storeContract("SqliteStore in a file", (options) =>
  openSqliteStore({ ...options, location: join(folder, `${files++}.db`) }),
);
