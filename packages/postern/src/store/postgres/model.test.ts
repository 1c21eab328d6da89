import { it } from "vitest";
import { testPostgres } from "../../../../../test/fakes/postgres-server.ts";
import { compareWithMemory } from "../../../../../test/fakes/store-model.ts";
import { serializePlainly } from "../../testing/records.ts";
import { openPostgresStore } from "./postgres-store.ts";

const postgres = testPostgres();

it("answers any sequence of writes as the store in memory, and has the same rows after it was opened again", async () => {
  await compareWithMemory(() => {
    const url = postgres.newStore();
    return (clock) => openPostgresStore({ url, clock, serialize: serializePlainly, time: "clock" });
  }, 15);
});
