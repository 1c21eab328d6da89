import { join } from "node:path";
import { it } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { compareWithMemory } from "../../../../../test/fakes/store-model.ts";
import { serializePlainly } from "../../testing/records.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const folder = ownFolder();
let files = 0;

it("answers any sequence of writes as the store in memory, and has the same rows after it was opened again", async () => {
  await compareWithMemory(() => {
    const location = join(folder, `${files++}.db`);
    return (clock) => openSqliteStore({ location, clock, serialize: serializePlainly });
  }, 25);
});
