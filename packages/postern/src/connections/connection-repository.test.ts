import { randomBytes } from "node:crypto";
import { SystemClock } from "@postern/core";
import { beforeEach, expect, it } from "vitest";
import { aLogStore } from "../../../../test/fakes/log-store.ts";
import { sharedDocuments } from "../../../../test/fakes/shared-documents.ts";
import { createRedactor } from "../secrets/redactor.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import { type ConnectionOwner, ConnectionRepository, type StoredConnection } from "./connection-repository.ts";

const ada = { tenant: "default", user: "ada" };
const made: StoredConnection = { server: "wiki", person: ada, address: "a", since: 1, made: "1" };
const grantOf = (token: string): Pick<StoredConnection, "grant"> => ({
  grant: {
    tokens: { access_token: token, token_type: "Bearer" },
    discovery: { authorizationServerUrl: "https://as.example" },
  },
});

let here: ConnectionRepository;
let there: ConnectionRepository;
let redactor: Redactor;
let heard: ConnectionOwner[];
beforeEach(async () => {
  const store = aLogStore(new SystemClock());
  const view = sharedDocuments(store);
  const key = randomBytes(32);
  redactor = createRedactor();
  const open = (own: Redactor): Promise<ConnectionRepository> => {
    const sealed = { store: { ...view(), follow: store.follow.bind(store) }, key };
    return ConnectionRepository.open({ sealed, redactor: own, log: () => {} });
  };
  [here, there] = [await open(createRedactor()), await open(redactor)];
  heard = [];
  there.follow("wiki", (owner) => heard.push(owner));
});

const change = (to: StoredConnection | undefined): Promise<void> => here.change("wiki", ada, () => to);

it("follows what another process makes, changes and ends, and not that it refreshes tokens", async () => {
  await change({ ...made, ...grantOf("the first token") });
  expect(heard).toEqual([ada]);
  expect(there.get("wiki", ada, "a")?.grant?.tokens.access_token).toBe("the first token");
  await change({ ...made, ...grantOf("the second token") });
  expect(heard).toHaveLength(1);
  expect(there.get("wiki", ada, "a")?.grant?.tokens.access_token).toBe("the second token");
  await change({ ...made, made: "2", ...grantOf("the third token") });
  expect(heard).toHaveLength(2);
  await change({ ...made, made: "2", keys: { token: "a key of ada" } });
  expect(heard).toHaveLength(3);
  await change(undefined);
  expect(heard).toEqual([ada, ada, ada, ada]);
  expect(there.get("wiki", ada, "a")).toBeUndefined();
  expect(there.owners("wiki", "a")).toEqual([]);
});

it("gives the redactor every token and key that another process stored", async () => {
  await change({ ...made, ...grantOf("the first token"), keys: { token: "a key of ada" } });
  await here.saveClient("wiki", ["x"], { client_id: "one", client_secret: "of the client", issuer: "i" });
  expect(await there.client("wiki", ["x"])).toMatchObject({ client_id: "one" });
  for (const secret of ["the first token", "a key of ada", "of the client"])
    expect(redactor.redact(`<${secret}>`)).toBe("<[redacted]>");
});

it("keeps a change that another process made meanwhile", async () => {
  await change({ ...made, ...grantOf("the first token") });
  await there.change("wiki", ada, (now) => now && { ...now, keys: { token: "a key of ada" } });
  await here.change("wiki", ada, (now) => now && { ...now, ...grantOf("the second token") });
  expect(there.get("wiki", ada, "a")).toEqual({
    ...{ ...made, ...grantOf("the second token") },
    keys: { token: "a key of ada" },
  });
});
