import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { noneNeeded } from "../../../../test/fakes/shaping.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { serializeWith } from "../audit/entry.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { artifactContract } from "../testing/artifact-contract.ts";
import { type FolderArtifacts, openFolderArtifacts } from "./folder-artifacts.ts";

const anna = { tenant: "acme", agent: "writer", user: "anna" };
const ben = { ...anna, user: "ben" };
const hourMs = 3_600_000;
const storeOf = (clock: FakeClock): MemoryStore => new MemoryStore({ clock, serialize: serializeWith((text) => text) });

/** Processes on one store and one folder, each with pins of its own. */
function processes(folder = ownFolder()) {
  const clock = new FakeClock();
  const store = storeOf(clock);
  const problems: string[] = [];
  const log = (problem: string): void => void problems.push(problem);
  const open = (at = folder, its: Pick<MemoryStore, "commit" | "documents"> = store): Promise<FolderArtifacts> =>
    openFolderArtifacts({ folder: at, clock, retentionMs: 0, shared: { store: its, log } });
  return { folder, clock, store, problems, open };
}

/** The names of all files with bytes. */
function bytesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "folder-id")
    .map(({ name }) => name);
}

describe("one process in a shared folder", () => {
  artifactContract(({ clock, retentionMs }) => {
    const shared = { store: storeOf(clock), log: () => {}, holdMs: 0 };
    return openFolderArtifacts({ folder: ownFolder(), clock, retentionMs, shared });
  });
});

describe("two processes in a shared folder", () => {
  it("lets one read what the other stored", async () => {
    const { open } = processes();
    const [a, b] = [await open(), await open()];
    const { digest } = await a.put(Buffer.from("made on a"), "text/plain", anna);
    expect(Buffer.from((await b.open(digest, anna)).bytes).toString()).toBe("made on a");
    await expect(b.open(digest, ben)).rejects.toMatchObject({ code: "artifact_unavailable" });
  });

  it("does not sweep what the other has pinned, as long as it holds its pins", async () => {
    const { open, clock, folder } = processes();
    const [a, b] = [await open(), await open()];
    await a.put(Buffer.from("pinned"), "text/plain", anna);
    for (let hours = 0; hours < 6; hours += 1) {
      await clock.advance(hourMs);
      await a.holdPinned();
      expect(await b.sweep(noneNeeded)).toBe(0);
    }
    await clock.advance(2 * hourMs); // the process was killed
    expect(await b.sweep(noneNeeded)).toBe(1);
    expect(bytesIn(folder)).toEqual([]);
  });

  it("does not sweep for an hour what the other was asked for, or has pinned again", async () => {
    const { open, clock } = processes();
    const [a, b] = [await open(), await open()];
    for (const use of [
      (digest: string) => b.mayUse(digest, anna),
      (digest: string) => b.meta(digest, anna),
      (digest: string) => b.pin(digest),
    ]) {
      const { digest } = await a.put(Buffer.from(`used ${use}`), "text/plain", anna);
      await a.unpin(digest);
      await clock.advance(1.9 * hourMs);
      await use(digest);
      await clock.advance(hourMs - 1);
      expect(await a.sweep(noneNeeded)).toBe(0);
      await clock.advance(2 * hourMs);
      expect(await a.sweep(noneNeeded)).toBe(1);
    }
  });

  it("loses a sweep against a use while the rows are asked", async () => {
    const { open, clock } = processes();
    const [a, b] = [await open(), await open()];
    const { digest } = await a.put(Buffer.from("x"), "text/plain", anna);
    await a.unpin(digest);
    await clock.advance(2 * hourMs);
    const used = async (): Promise<ReadonlySet<string>> => {
      await b.meta(digest, anna);
      return new Set();
    };
    expect(await a.sweep(used)).toBe(0);
    expect((await b.open(digest, anna)).bytes).toHaveLength(1);
  });

  it("keeps releases and judgements of both when they store equal bytes at once", async () => {
    const { open, folder } = processes();
    const both = [await open(), await open()];
    const users = Array.from({ length: 10 }, (_, i) => ({ ...anna, user: `user ${i}` }));
    const [first] = await Promise.all(
      users.flatMap((user) => both.map((one) => one.put(Buffer.from("same"), "text/plain", user))),
    );
    const { digest = "" } = first ?? {};
    await Promise.all(users.map((user, i) => both[i % 2]?.judge(digest, user, { withheld: user.user })));
    for (const user of users) await expect(both[0]?.open(digest, user)).rejects.toThrow(`withheld by ${user.user}`);
    expect(bytesIn(folder)).toHaveLength(1);
  });

  it("stores bytes again that the other is just sweeping", async () => {
    const { open, clock } = processes();
    const [a, b] = [await open(), await open()];
    const { digest } = await a.put(Buffer.from("again"), "text/plain", anna);
    await a.unpin(digest);
    await clock.advance(2 * hourMs);
    await Promise.all([a.sweep(noneNeeded), b.put(Buffer.from("again"), "text/plain", anna)]);
    expect(Buffer.from((await b.open(digest, anna)).bytes).toString()).toBe("again");
  });

  it("removes no bytes that were stored while it was slow to remove the swept ones", async () => {
    const { open, clock, store, folder } = processes();
    const b = await open();
    const commit: MemoryStore["commit"] = async (write, durability) => {
      const committed = await store.commit(write, durability);
      if (write.write === "document" && write.body === null) await b.put(Buffer.from("x"), "text/plain", anna);
      return committed;
    };
    const slow = await open(folder, { commit, documents: store.documents });
    const { digest } = await slow.put(Buffer.from("x"), "text/plain", anna);
    await slow.unpin(digest);
    await clock.advance(2 * hourMs);
    expect(await slow.sweep(noneNeeded)).toBe(1);
    expect((await b.open(digest, anna)).bytes).toHaveLength(1);
    expect(bytesIn(folder)).toHaveLength(1);
  });

  it("leaves young files that it does not know, and removes them after a day", async () => {
    const { open, folder } = processes();
    const a = await open();
    const { digest } = await a.put(Buffer.from("x"), "text/plain", anna);
    const stray = join(folder, digest.slice(0, 2), `${"0".repeat(62)}.${"0".repeat(16)}`);
    const draft = join(folder, "tmp", "draft");
    for (const path of [stray, draft]) writeFileSync(path, "half");
    await open();
    expect(await a.sweep(noneNeeded)).toBe(0);
    expect(bytesIn(folder)).toHaveLength(3);
    const yesterday = Date.now() / 1_000 - 86_500;
    for (const path of [stray, draft]) utimesSync(path, yesterday, yesterday);
    expect(await a.sweep(noneNeeded)).toBe(1);
    expect(bytesIn(folder)).toHaveLength(1);
  });
});

it("finds artifacts of a folder that one process used before, and sweeps them whole", async () => {
  const { open, folder, clock } = processes();
  const before = await openFolderArtifacts({ folder, clock, retentionMs: 0 });
  const { digest } = await before.put(Buffer.from("earlier"), "text/plain", anna);
  const [a, b] = [await open(), await open()];
  await a.release(digest, ben);
  expect(Buffer.from((await b.open(digest, ben)).bytes).toString()).toBe("earlier");
  await clock.advance(2 * hourMs);
  expect(await b.sweep(noneNeeded)).toBe(1);
  expect(bytesIn(folder)).toEqual([]);
  expect(await a.mayUse(digest, anna)).toBe(false);
});

it("refuses a folder of another store, and says who uses another folder", async () => {
  const first = processes();
  await first.open();
  const second = processes(first.folder);
  await expect(second.open()).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("belong to another store"),
  });
  const { folder, clock } = first;
  await expect(openFolderArtifacts({ folder, clock, retentionMs: 0 })).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("belong to another store"),
  });
  await first.open(ownFolder());
  expect(first.problems).toEqual([expect.stringContaining(`in \`${first.folder}\` of`)]);
  await first.clock.advance(3 * hourMs);
  await first.open();
  expect(first.problems).toHaveLength(1);
});

it("gives the folder one name when two processes use it first", async () => {
  const { open, store, folder } = processes();
  await Promise.all([open(), open(), open()]);
  expect(await store.documents.list("artifact_folder", "")).toEqual([readFileSync(join(folder, "folder-id"), "utf8")]);
});

it("refuses a folder that cannot be made, by its name", async () => {
  const { open, folder } = processes();
  const refused = { code: "config_invalid", message: expect.stringContaining(folder) };
  writeFileSync(join(folder, "file"), "");
  await expect(open(join(folder, "file", "artifacts"))).rejects.toMatchObject(refused);
});

it("stores and sweeps nothing in a folder that is not mounted any more", async () => {
  const { open, folder } = processes();
  const a = await open();
  rmSync(folder, { recursive: true });
  await expect(a.put(Buffer.from("x"), "text/plain", anna)).rejects.toMatchObject({ code: "ENOENT" });
  expect(await a.sweep(noneNeeded).catch(({ code }) => code)).toBe("ENOENT");
});
