import { join } from "node:path";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { storeContract } from "../../testing/store-contract.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const folder = ownFolder();
let files = 0;

storeContract("SqliteStore", (options) => openSqliteStore({ ...options, location: join(folder, `${files++}.db`) }));
