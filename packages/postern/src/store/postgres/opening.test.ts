import { type StoreWrite, SystemClock } from "@postern/core";
import { expect, it, onTestFinished } from "vitest";
import { testPostgres } from "../../../../../test/fakes/postgres-server.ts";
import { callOf, claimOf, recordOf, serializePlainly, settleOf } from "../../testing/records.ts";
import { readPostgresAddress } from "./address.ts";
import { loadPg } from "./load-pg.ts";
import { openPostgresStore, type PostgresStore } from "./postgres-store.ts";

const postgres = testPostgres();
const clock = new SystemClock();

async function opened(url: string): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, clock, serialize: serializePlainly });
  onTestFinished(async () => await store[Symbol.asyncDispose]());
  return store;
}

/** A call that has ended in a scope, a request to this process, and the reply to it. */
async function fill(store: PostgresStore, scope: string): Promise<void> {
  const record = recordOf(callOf(clock), { fence: store.incarnation });
  const past = { judgedBy: [], upTo: -1, scopes: [scope] };
  await store.commit({ ...claimOf(record, { fresh: true }), past } as StoreWrite, "committed");
  await store.commit(settleOf(record, "ok", { endedAt: clock.now() }), "committed");
  for (const kind of ["message", "message_reply", "grant"]) {
    const id = `${store.incarnation}/msg_1`;
    await store.commit({ write: "document", kind, id, body: null, expectedVersion: 0 }, "committed");
  }
}

it("removes the versions of artifacts that were swept, and no document of one that is there", async () => {
  const url = postgres.newStore();
  const store = await opened(url);
  for (const [id, body] of [
    ["swept", null],
    ["kept", {}],
  ] as const)
    await store.commit({ write: "document", kind: "artifact", id, body, expectedVersion: 0 }, "committed");
  await opened(url);
  expect(await store.documents.get("artifact", "swept")).toBeUndefined();
  expect(await store.documents.get("artifact", "kept")).toMatchObject({ version: 1 });
  const late = { write: "document", kind: "artifact", id: "swept", body: {} } as const;
  expect(await store.commit({ ...late, expectedVersion: 1 }, "committed")).toMatchObject({ won: false });
});

it("removes what an opening left that ended more than a day ago, and nothing of the others", async () => {
  const url = postgres.newStore();
  const [gone, left, running] = [await opened(url), await opened(url), await opened(url)];
  for (const [store, scope] of [
    [gone, "gone"],
    [left, "left"],
    [running, "running"],
  ] as const)
    await fill(store, scope);
  await gone[Symbol.asyncDispose]();
  await left[Symbol.asyncDispose]();
  const { Client } = await loadPg();
  const { connectionString, schema } = readPostgresAddress(url);
  const client = new Client({ connectionString, options: `-c search_path=${schema}` });
  await client.connect();
  onTestFinished(() => client.end());
  const age = "update opening set lease_until = lease_until - $2::interval where incarnation = $1";
  await client.query(age, [gone.incarnation, "25 hours"]);
  await client.query(age, [left.incarnation, "23 hours"]);

  await opened(url);
  const { rows: scopes } = await client.query("select scope from past order by scope");
  expect(scopes).toEqual([{ scope: "left" }, { scope: "running" }]);
  const { rows: documents } = await client.query<{ kind: string; id: string }>("select kind, id from document");
  const kindsOf = ({ incarnation }: PostgresStore) =>
    documents.flatMap(({ kind, id }) => (id === `${incarnation}/msg_1` ? [kind] : [])).toSorted();
  expect(kindsOf(gone)).toEqual(["grant"]);
  for (const store of [left, running]) expect(kindsOf(store)).toEqual(["grant", "message", "message_reply"]);
});
