import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SystemClock } from "@postern/core";
import { beforeEach, expect, it } from "vitest";
import { aLogStore } from "../../../../test/fakes/log-store.ts";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { sharedDocuments } from "../../../../test/fakes/shared-documents.ts";
import { Collection } from "../store/collection.ts";
import { type SealedStore, sealedDocuments } from "../store/sealed-documents.ts";
import type { Store } from "../store/store.ts";
import type { KeySource } from "./sealing-key.ts";
import { openSealedStore } from "./sealing-of-store.ts";

let store: Store;
let view: () => SealedStore["store"];
beforeEach(() => {
  store = aLogStore(new SystemClock());
  const shared = sharedDocuments(store);
  view = () => ({ ...shared(), follow: (listener) => store.follow(listener) });
});

const keyFile = (): string => join(ownFolder(), "secrets.key");
const open = (source: KeySource): Promise<SealedStore> => openSealedStore(view(), source, () => {});
const passphrase = (text: string): KeySource => ({ keyFile: keyFile(), environment: { POSTERN_SECRETS_KEY: text } });
const anotherKey = { code: "secrets_key_invalid", message: expect.stringContaining("another key than the one in") };

it("gives all processes with one key file one key, and each store another one", async () => {
  const source = { keyFile: keyFile(), environment: {} };
  const [one, other] = [await open(source), await open(source)];
  expect(one.key).toEqual(other.key);
  const elsewhere = aLogStore(new SystemClock());
  const third = { ...sharedDocuments(elsewhere)(), follow: store.follow };
  expect((await openSealedStore(third, source, () => {})).key).not.toEqual(one.key);
});

it("lets one of several that start at once name its key, and refuses those with others", async () => {
  const files = Array.from({ length: 4 }, keyFile);
  const ends = await Promise.allSettled(files.map((file) => open({ keyFile: file, environment: {} })));
  expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const end of ends) if (end.status === "rejected") expect(end.reason).toMatchObject(anotherKey);
});

it("takes a passphrase, and refuses another one", async () => {
  const { key } = await open(passphrase("correct horse battery"));
  expect((await open(passphrase("correct horse battery"))).key).toEqual(key);
  await expect(open(passphrase("correct horse batterx"))).rejects.toMatchObject(anotherKey);
});

it("makes no key if the store names one, and says where to put it", async () => {
  await open({ keyFile: keyFile(), environment: {} });
  const missing = keyFile();
  await expect(open({ keyFile: missing, environment: {} })).rejects.toMatchObject({
    code: "secrets_key_invalid",
    message: expect.stringContaining(`into \`${missing}\` (mode 0600), or into \`POSTERN_SECRETS_KEY\``),
  });
  expect(existsSync(missing)).toBe(false);
});

it("refuses a store whose key's name is not what Postern writes", async () => {
  const write = { write: "document", kind: "sealing_key", id: "documents", body: { salt: 1 }, expectedVersion: 0 };
  await store.commit(write as never, "synced");
  await expect(open({ keyFile: keyFile(), environment: {} })).rejects.toMatchObject({ code: "store_unreadable" });
});

it("tells the redactor its key, and refuses a damaged key file", async () => {
  const learned: string[] = [];
  const file = keyFile();
  await openSealedStore(view(), { keyFile: file, environment: {} }, (key) => learned.push(key));
  expect(learned).toEqual([expect.stringMatching(/^AGE-SECRET-KEY-1/)]);
  writeFileSync(file, "AGE-SECRET-KEY-1X");
  await expect(open({ keyFile: file, environment: {} })).rejects.toMatchObject({ code: "secrets_key_invalid" });
});

it("opens a body only in the document that it was written for", async () => {
  const sealed = await open({ keyFile: keyFile(), environment: {} });
  const problems: string[] = [];
  const log = (problem: string): void => void problems.push(problem);
  const seen: object[] = [];
  const notes = (kind: string) =>
    new Collection(sealedDocuments<{ n: number }>(sealed, { kind, log, seen: (item) => seen.push(item) }));
  await notes("one").change("a", () => ({ item: { n: 1 } }));
  const { body = null } = (await store.documents.get("one", "a")) ?? {};
  expect(typeof body).toBe("string");
  for (const [kind, id] of [
    ["one", "b"],
    ["other", "a"],
  ] as const)
    await store.commit({ write: "document", kind, id, body, expectedVersion: 0 }, "synced");
  expect([await notes("one").get("a"), await notes("one").get("b"), await notes("other").get("a")]).toEqual([
    { n: 1 },
    undefined,
    undefined,
  ]);
  expect(problems).toHaveLength(2);
  expect(seen).toEqual([{ n: 1 }, { n: 1 }]);
  await notes("one").change("a", (item) => item && { item: undefined });
  expect(await store.documents.get("one", "a")).toEqual({ version: 2, body: null });
});

it("keeps documents apart from the store, and for this process only, without a key", async () => {
  const sealed = await openSealedStore(view(), undefined, () => {});
  await new Collection(sealedDocuments<number>(sealed, { kind: "one", log: () => {} })).change("a", () => ({
    item: 1,
  }));
  expect(await store.documents.list("one", "")).toEqual([]);
});
