import { testPostgres } from "../../../../../test/fakes/postgres-server.ts";
import { storeContract } from "../../testing/store-contract.ts";
import { openPostgresStore } from "./postgres-store.ts";

const postgres = testPostgres();

storeContract("PostgresStore", (options) => openPostgresStore({ ...options, url: postgres.newStore(), time: "clock" }));
