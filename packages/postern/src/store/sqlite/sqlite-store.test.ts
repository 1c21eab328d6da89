import { join } from "node:path";
import { storeContract } from "../../../../../test/contracts/store-contract.ts";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const folder = ownFolder();
let files = 0;

storeContract("SqliteStore", (options) => openSqliteStore({ ...options, location: join(folder, `${files++}.db`) }));
