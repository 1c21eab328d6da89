/** Several gateways on one PostgreSQL store share one folder of artifacts. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { SystemClock } from "../../../packages/core/src/index.ts";
import { loadSigner } from "../../../packages/postern/src/audit/signer.ts";
import { readArtifact } from "../../../packages/postern/src/builtin/index.ts";
import { createRuntime, defineTool, type RuntimeOptions } from "../../../packages/postern/src/index.ts";
import { type FolderArtifacts, openFolderArtifacts } from "../../../packages/postern/src/results/folder-artifacts.ts";
import { collected } from "../../../packages/postern/src/results/streams.ts";
import { openPostgresStore } from "../../../packages/postern/src/store/postgres/postgres-store.ts";
import type { Store } from "../../../packages/postern/src/store/store.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { type ServedRuntime, serveRuntime } from "../../fakes/served-runtime.ts";
import { noneNeeded } from "../../fakes/shaping.ts";
import { twoGateways } from "../../fakes/two-gateways.ts";

const postgres = testPostgres();
const large = "a large result. ".repeat(10_000);
const report = defineTool({
  ...{ name: "report", description: "Answers with much.", risk: "safe", effects: "read", idempotent: true },
  ...{ inputSchema: { type: "object" }, execute: () => large },
});

/** Data folders with one audit key, as a deployment has. */
async function dataFolders(): Promise<Readonly<Record<"a" | "b", string>>> {
  const folders = { a: ownFolder(), b: ownFolder() };
  await loadSigner(folders.a);
  for (const file of ["audit.key", "audit.pub"]) cpSync(join(folders.a, file), join(folders.b, file));
  return folders;
}

async function served(more: RuntimeOptions = {}): Promise<Readonly<Record<"a" | "b", ServedRuntime>>> {
  const store = postgres.newStore();
  const folders = await dataFolders();
  const results = { folder: ownFolder() };
  const one = (name: "a" | "b"): Promise<ServedRuntime> =>
    serveRuntime({ tools: [report, readArtifact], store, folder: folders[name], results, ...more });
  return { a: await one("a"), b: await one("b") };
}

async function readWith({ agent }: ServedRuntime, digest: string): Promise<string> {
  return Buffer.from(await collected(agent.artifacts.read({ digest }))).toString();
}

it("reads on one gateway, on every way, what a call on the other one made", async () => {
  const { a, b } = await served();
  const { artifact = "" } = await a.agent.calls.call({ tool: "report", arguments: {} });
  expect(await readWith(b, artifact)).toBe(large);
  const client = await b.connect();
  const { contents } = await client.readResource({ uri: `artifact:${artifact}` });
  expect(contents).toEqual([expect.objectContaining({ text: large })]);
  const read = await client.callTool({ name: "read_artifact", arguments: { artifact, grep: "large" } });
  expect(JSON.stringify(read.content)).toContain("a large result.");
});

it("keeps on both gateways what either of them has pinned", async () => {
  const folders = await dataFolders();
  const results = { folder: ownFolder(), retentionDays: 0 };
  await using g = await twoGateways(postgres.newStore(), (name) => ({ folder: folders[name], results }));
  const [a, b] = [g.a.artifacts as FolderArtifacts, g.b.artifacts as FolderArtifacts]; // the runtime made them
  const { digest } = await a.put(Buffer.from("pinned"), "text/plain", asker.principal);
  expect(await b.sweep(noneNeeded)).toBe(0);
  await a.unpin(digest);
  await b.pin(digest);
  expect(await a.sweep(noneNeeded)).toBe(0);
  expect(Buffer.from((await b.open(digest, asker.principal)).bytes).toString()).toBe("pinned");
  expect(g.problems).toEqual([]);
});

it("says at the start that another gateway has another folder", async () => {
  const folders = await dataFolders();
  await using g = await twoGateways(postgres.newStore(), (name) => ({ folder: folders[name] }));
  const where = `those of another gateway on this store in \`${join(folders.a, "artifacts")}\``;
  expect(g.problems).toEqual([expect.stringMatching(new RegExp(`^b: .*${where}`))]);
});

it("refuses a folder that cannot be used, and one without a store to share", async () => {
  const file = join(ownFolder(), "file");
  writeFileSync(file, "");
  const open = (store: string) => createRuntime({ store, results: { folder: join(file, "artifacts") } });
  await expect(open(postgres.newStore())).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining(`\`${join(file, "artifacts")}\``),
  });
  const missing = createRuntime({ store: postgres.newStore(), results: { folder: join(ownFolder(), "volume") } });
  await expect(missing).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringMatching(/volume`, which .* Mount its volume; or, .*mkdir -p/),
  });
  await expect(open("memory")).rejects.toMatchObject({
    code: "options_invalid",
    message: expect.stringContaining("only gateways on"),
  });
});

it("ends a call as `result_unavailable` while the folder is away, and goes on when it is back", async () => {
  const folder = join(ownFolder(), "artifacts");
  mkdirSync(folder);
  const { a, b } = await served({ results: { folder } });
  const kept = join(folder, "..", "kept");
  cpSync(folder, kept, { recursive: true });
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "");
  const refused = await a.agent.calls.call({ tool: "report", arguments: {} });
  expect(refused.refusal?.code).toBe("result_unavailable");
  rmSync(folder);
  cpSync(kept, folder, { recursive: true });
  const { artifact = "" } = await a.agent.calls.call({ tool: "report", arguments: {} });
  expect(await readWith(b, artifact)).toBe(large);
});

interface Shared {
  readonly store: Store;
  readonly folder: string;
  readonly artifacts: FolderArtifacts;
  readonly again: () => Promise<FolderArtifacts>;
  readonly start: (does: "sweep" | "pin") => Promise<{ readonly child: ChildProcess; readonly line: string }>;
}

/** This process, and children that use the same folder of artifacts. */
async function shared(holdMs: number): Promise<Shared> {
  const url = postgres.newStore();
  const folder = join(ownFolder(), "artifacts");
  const log = (): void => undefined;
  const store = await openPostgresStore({ url, clock: new SystemClock(), serialize: () => "{}", log });
  onTestFinished(() => store[Symbol.asyncDispose]());
  const { clock } = store;
  const again = () => openFolderArtifacts({ folder, clock, retentionMs: 0, shared: { store, log, holdMs } });
  const artifacts = await again();
  const start: Shared["start"] = async (does) => {
    const program = join(import.meta.dirname, "../../fakes/artifact-process.ts");
    const child = spawn(process.execPath, [program, does, url, folder, String(holdMs)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    return { child, line: await lineOf(child) };
  };
  return { store, folder, artifacts, again, start };
}

async function lineOf({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("The process has no output.");
  return String((await once(stdout, "data"))[0]).trim();
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "folder-id")
    .map(({ name }) => name);
}

it("frees the pins of a killed process when they are no longer held", async () => {
  const { store, folder, artifacts, start } = await shared(2_000);
  const { child, line } = await start("pin");
  const held = async (): Promise<number> => {
    expect(await artifacts.sweep(noneNeeded)).toBe(0);
    return Number(Object((await store.documents.get("artifact", line))?.body)["heldUntil"]);
  };
  const first = await held();
  await expect.poll(held, { timeout: 30_000 }).toBeGreaterThan(first + 3_000);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await artifacts.sweep(noneNeeded)).toBe(0);
  await expect.poll(() => artifacts.sweep(noneNeeded), { timeout: 30_000 }).toBe(1);
  expect(filesIn(folder)).toEqual([]);
});

it("never loses what it pins or stores to a process that sweeps all the time", async () => {
  const { store, folder, artifacts, again, start } = await shared(600_000);
  const { child } = await start("sweep");
  const { folderId = "" } = artifacts.shared ?? {};
  const seen = { pinned: 0, refused: 0, storedAgain: 0 };
  /** As if its time had passed. */
  const expire = async (digest: string): Promise<void> => {
    const id = `${folderId}/${digest}`;
    const found = await store.documents.get("artifact", id);
    if (!found?.body) return;
    const body = { ...Object(found.body), heldUntil: 0 };
    await store.commit({ write: "document", kind: "artifact", id, body, expectedVersion: found.version }, "committed");
  };
  const race = async (name: string, round: number): Promise<void> => {
    const bytes = Buffer.from(`${name} ${round % 3}`);
    const { digest } = await artifacts.put(bytes, "text/plain", asker.principal);
    await artifacts.unpin(digest);
    await expire(digest);
    if (round % 2 === 0) {
      await artifacts.put(bytes, "text/plain", asker.principal);
      seen.storedAgain += 1;
    } else {
      const isPinned = await artifacts.pin(digest).then(
        () => true,
        (error) => error.code !== "artifact_unavailable",
      );
      seen[isPinned ? "pinned" : "refused"] += 1;
      if (!isPinned) return;
    }
    expect(Buffer.from((await artifacts.open(digest, asker.principal)).bytes)).toEqual(bytes);
    await artifacts.unpin(digest);
    await expire(digest);
  };
  const racers = Array.from({ length: 8 }, async (_, racer) => {
    for (let round = 0; round < 250; round += 1) await race(`racer ${racer}`, round);
  });
  await Promise.all(racers);
  const ended = lineOf(child);
  child.stdin?.write("enough\n");
  expect(Number(await ended)).toBeGreaterThan(100);
  expect(seen).toMatchObject({ storedAgain: 1_000 });
  expect(Math.min(seen.pinned, seen.refused)).toBeGreaterThan(0);
  await (await again()).sweep(noneNeeded); // what this process has just used, it keeps
  expect(filesIn(folder)).toEqual([]);
  expect(await store.documents.list("artifact", "")).toEqual([]);
});
