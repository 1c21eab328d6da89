/** Connections that an older Postern kept in a file, and those whose key is lost. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { digestOf } from "../../packages/core/src/system/index.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { addressDigest } from "../../packages/postern/src/mcp/client/known-servers.ts";
import { changeSealed } from "../../packages/postern/src/secrets/sealed-file.ts";
import { GuardedServer } from "../fakes/guarded-server.ts";
import { ownFolder } from "../fakes/own-folder.ts";

let guarded: GuardedServer;
beforeAll(async () => {
  guarded = await GuardedServer.start();
  await guarded.tell({ isOpen: true });
});
afterAll(() => guarded[Symbol.asyncDispose]());

const ada = { tenant: "default", user: "ada" };
const config = () => ({ url: guarded.url, headers: { "X-Api-Key": "secret://person/token" }, risk: "safe" }) as const;

/** A data folder as an older Postern left it. */
async function olderFolder() {
  const folder = ownFolder();
  const [file, keyFile] = [join(folder, "connections.age"), join(folder, "secrets.key")];
  const connection = { person: ada, address: addressDigest(config()), since: 1, keys: { token: "the key of ada" } };
  const client = { client_id: "registered", issuer: "https://as.example", client_secret: "of the client" };
  await changeSealed({ file, keyFile, environment: {} }, () => {
    const person = `person-${digestOf([ada.tenant, ada.user])}`;
    return new Map([
      [`guarded/${person}`, JSON.stringify({ kind: "connection", connection })],
      ["guarded/client-abc", JSON.stringify({ kind: "client", client })],
    ]);
  });
  const problems: string[] = [];
  const open = (more: RuntimeOptions = {}): Promise<Runtime> =>
    createRuntime({
      ...{ autonomy: "A4", folder, store: `sqlite:${join(folder, "postern.db")}`, servers: { guarded: config() } },
      ...{ log: (problem) => problems.push(problem), ...more },
    });
  return { folder, file, keyFile, open, problems };
}

const isConnected = (runtime: Runtime): boolean | undefined => runtime.connections?.list(ada)[0]?.connected;

it("moves them into the store, and removes the file", async () => {
  const { folder, file, open, problems } = await olderFolder();
  {
    await using runtime = await open();
    expect(existsSync(file)).toBe(false);
    const { text } = await runtime.invoke({ tool: "guarded__whoami" }, { principal: { ...ada, agent: "helper" } });
    expect(text).toBe("[redacted]"); // the server says the key
  }
  const stored = readFileSync(join(folder, "postern.db"), "latin1");
  expect(stored).toContain("guarded/client-abc");
  for (const secret of ["the key of ada", "of the client"]) expect(stored).not.toContain(secret);
  await using again = await open();
  expect(isConnected(again)).toBe(true);
  expect(problems).toEqual([]);
});

it("goes on after a crash before the file was removed, and brings nothing back that was revoked since", async () => {
  const { file, open } = await olderFolder();
  const bytes = readFileSync(file);
  {
    await using runtime = await open();
    expect(isConnected(runtime)).toBe(true);
  }
  writeFileSync(file, bytes);
  {
    await using runtime = await open();
    expect(isConnected(runtime)).toBe(true);
    expect(existsSync(file)).toBe(false);
    await runtime.connections?.revoke("guarded", ada);
  }
  writeFileSync(file, bytes);
  await using runtime = await open();
  expect(isConnected(runtime)).toBe(false);
  expect(existsSync(file)).toBe(false);
});

it("leaves the file where it is if its key is missing, or the store does not last", async () => {
  const { file, open, problems } = await olderFolder();
  const other = join(ownFolder(), "other.key");
  await expect(open({ connections: { keyFile: other } })).rejects.toMatchObject({ code: "secrets_key_invalid" });
  {
    await using runtime = await open({ store: "memory" });
    expect(isConnected(runtime)).toBe(false);
  }
  expect(problems).toEqual([expect.stringContaining("this store is in memory")]);
  expect(existsSync(file)).toBe(true);
  await using runtime = await open();
  expect(isConnected(runtime)).toBe(true);
});

it("does not start without its key, until the connections are given up as the reference says", async () => {
  const { folder, keyFile, open } = await olderFolder();
  await (await open()).close(0);
  rmSync(keyFile);
  await expect(open()).rejects.toMatchObject({ code: "secrets_key_invalid" });
  const page = readFileSync("docs/reference/connections.md", "utf8");
  {
    using database = new DatabaseSync(join(folder, "postern.db"));
    database.exec(/```sql\n(.+)\n```/.exec(page)?.[1] ?? "");
  }
  await using runtime = await open();
  expect(isConnected(runtime)).toBe(false);
  await runtime.connections?.enter("guarded", ada, { token: "another key of ada" });
  expect(isConnected(runtime)).toBe(true);
});
