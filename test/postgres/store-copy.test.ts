import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished, vi } from "vitest";
import { Tree } from "../../packages/postern/src/audit/tree.ts";
import { copyStore } from "../../packages/postern/src/backup/copy-store.ts";
import { createRuntime, defineTool, type Runtime } from "../../packages/postern/src/index.ts";
import { loadPg } from "../../packages/postern/src/store/postgres/load-pg.ts";
import { openPostgresRows } from "../../packages/postern/src/store/postgres/postgres-rows.ts";
import { SqliteRows } from "../../packages/postern/src/store/sqlite/sqlite-rows.ts";
import type { OpenRows, StoreRows } from "../../packages/postern/src/store/store-rows.ts";
import { CommandLine } from "../fakes/command-line.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { testPostgres } from "../fakes/postgres-server.ts";

const postgres = testPostgres();
const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());
const ada = { user: "ada", via: "library" } as const;

interface Opened {
  readonly runtime: Runtime;
  /** The arguments of its executions. */
  readonly ran: string[];
}

async function open(store: string, folder: string): Promise<Opened> {
  const ran: string[] = [];
  const tool = (name: string, risk: "safe" | "high") =>
    defineTool({
      ...{ name, description: name, risk, effects: "write", idempotent: false, inputSchema: { type: "object" } },
      execute: (given: unknown) => {
        ran.push((given as { text: string }).text);
        return "done";
      },
    });
  const tools = [tool("note", "safe"), tool("send", "high"), tool("post", "high")];
  const runtime = await createRuntime({ tools, store, folder, approvals: { patience: "suspend" } });
  onTestFinished(() => runtime.close());
  return { runtime, ran };
}

interface Source {
  readonly file: string;
  readonly folder: string;
  /** The request that waits. */
  readonly waiting: string;
}

/** Calls, a request that waits, a grant in a document, statistics and their log. */
async function filled(): Promise<Source> {
  const folder = ownFolder();
  const file = join(folder, "postern.db");
  const { runtime } = await open(`sqlite:${file}`, folder);
  for (let n = 0; n < 5; n += 1) await runtime.invoke({ tool: "note", arguments: { text: `a \0 and a \\ ${n}` } });
  const granted = await runtime.invoke({ tool: "send", arguments: { text: "granted" } });
  const remember = { for: { until: Date.now() + 3_600_000 }, reason: "the weekly letter" } as const;
  await runtime.approvals.decide(granted.approvalId ?? "", { decision: "approved", by: ada, remember });
  const { approvalId: waiting = "" } = await runtime.invoke({ tool: "post", arguments: { text: "later" } });
  await runtime.close();
  return { file, folder, waiting };
}

async function allOf(rows: OpenRows): Promise<readonly StoreRows[]> {
  const all: StoreRows[] = [];
  for await (const part of rows.read()) all.push(part);
  return all;
}

async function sourceRows(file: string): Promise<readonly StoreRows[]> {
  await using rows = new SqliteRows(file, { isNew: false });
  return await allOf(rows);
}

async function targetRows(url: string): Promise<readonly StoreRows[]> {
  await using rows = await openPostgresRows(url);
  return await allOf(rows);
}

function rootOf(parts: readonly StoreRows[]): string {
  const tree = new Tree();
  for (const { body } of parts.flatMap(({ entries = [] }) => entries)) tree.append(body);
  return tree.root();
}

/** Gives the rows one part at a time, and calls `atEntries` before the log. */
function interrupted(from: OpenRows, atEntries: () => Promise<void>): OpenRows {
  return {
    async *read() {
      for await (const rows of from.read()) {
        if (rows.entries !== undefined) await atEntries();
        yield rows;
      }
    },
    add: (rows) => from.add(rows),
    keep: () => from.keep(),
    [Symbol.asyncDispose]: () => from[Symbol.asyncDispose](),
  };
}

it("copies a file into PostgreSQL, where the waiting request is approved and its call runs once", async () => {
  const { file, folder, waiting } = await filled();
  const before = await sourceRows(file);
  const url = postgres.newStore();
  vi.stubEnv("POSTERN_SECRET_POSTGRES_URL", url);
  const copied = await cli.run("store", "copy", `sqlite:${file}`, "secret://postgres/url", "--json");
  expect(copied, copied.err).toMatchObject({ code: 0 });
  const { root, waiting: stillWaiting, calls, events, to } = JSON.parse(copied.out);
  expect(stillWaiting).toBe(1);
  expect(to).toBe("secret://postgres/url");
  expect([rootOf(before), rootOf(await targetRows(url))]).toEqual([root, root]);
  expect(await sourceRows(file)).toEqual(before);
  const byName = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  const flat = (parts: readonly StoreRows[]) =>
    (["calls", "approvals", "documents", "statistics", "entries"] as const).map((name) =>
      parts.flatMap((part): readonly object[] => part[name] ?? []).toSorted(byName),
    );
  expect(flat(await targetRows(url))).toEqual(flat(before));

  const again = await cli.run("store", "copy", `sqlite:${file}`, url);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining("must be a new store") });

  const { runtime, ran } = await open(url, folder);
  expect(runtime.audit.size).toBeGreaterThanOrEqual(events);
  expect((await runtime.calls.list({})).length).toBe(calls);
  expect((await runtime.approvals.list({ state: "pending" })).map(({ id }) => id)).toEqual([waiting]);
  await runtime.approvals.decide(waiting, { decision: "approved", by: ada });
  expect(await runtime.resume(waiting)).toMatchObject({ status: "ok" });
  await runtime.resume(waiting);
  expect(ran.filter((text) => text === "later")).toEqual(["later"]);
  expect(await runtime.invoke({ tool: "send", arguments: { text: "by the grant" } })).toMatchObject({ status: "ok" });
  expect(await runtime.audit.verify()).toMatchObject({ intact: true });

  const backup = runtime.storage.backup({ by: "ada", via: "library" })[Symbol.asyncIterator]();
  await expect(backup.next()).rejects.toMatchObject({
    code: "backup_unsupported",
    message: expect.stringContaining("pg_dump --format=custom --schema=postern"),
  });

  const busy = await cli.run("store", "copy", `sqlite:${file}`, url);
  expect(busy).toMatchObject({ code: 1, err: expect.stringContaining("is in use by 1 Postern") });
});

async function asked(sql: string, values: readonly unknown[] = []): Promise<readonly unknown[]> {
  const { Client } = await loadPg();
  const client = new Client(postgres.url);
  await client.connect();
  try {
    return (await client.query(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}

function schemas(url: string): Promise<readonly unknown[]> {
  return asked("select from pg_namespace where nspname = $1", [new URL(url).searchParams.get("schema")]);
}

it("leaves nothing in the target when the source breaks, and when the connection is lost", async () => {
  const { file } = await filled();
  const before = await sourceRows(file);
  const url = postgres.newStore();
  await using from = new SqliteRows(file, { isNew: false });
  const copy = async (atEntries: () => Promise<void>): Promise<unknown> => {
    await using to = await openPostgresRows(url);
    return await copyStore(interrupted(from, atEntries), to);
  };
  await expect(copy(() => Promise.reject(new Error("the disk is gone")))).rejects.toThrow("the disk is gone");
  expect(await schemas(url)).toEqual([]);
  const other = join(ownFolder(), "other.db");
  const copyToFile = async (): Promise<unknown> => {
    await using to = new SqliteRows(other, { isNew: true });
    return await copyStore(
      interrupted(from, () => Promise.reject(new Error("the disk is gone"))),
      to,
    );
  };
  await expect(copyToFile()).rejects.toThrow("the disk is gone");
  expect(existsSync(other)).toBe(false);

  const cut = async (): Promise<void> => {
    const copying = "application_name = 'postern' and state = 'idle in transaction'";
    expect(await asked(`select pg_terminate_backend(pid, 10000) from pg_stat_activity where ${copying}`)).toHaveLength(
      1,
    );
  };
  await expect(copy(cut)).rejects.toMatchObject({ code: "store_unwritable" });
  expect(await schemas(url)).toEqual([]);

  await using to = await openPostgresRows(url);
  expect(await copyStore(from, to)).toMatchObject({ waiting: 1 });
  expect(await allOf(from)).toEqual(before);
});
