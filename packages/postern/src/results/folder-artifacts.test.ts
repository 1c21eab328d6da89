import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { noneNeeded } from "../../../../test/fakes/shaping.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { artifactContract } from "../testing/artifact-contract.ts";
import type { SharedArtifactStore } from "./artifact-store.ts";
import { openFolderArtifacts } from "./folder-artifacts.ts";

const anna = { tenant: "acme", agent: "writer", user: "anna" };
const folders: string[] = [];

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "postern-artifacts-"));
  folders.push(folder);
  return folder;
}

async function open(folder: string, retentionMs = 0): Promise<SharedArtifactStore> {
  return openFolderArtifacts({ folder, clock: new FakeClock(), retentionMs });
}

function pathOf(folder: string, digest: string): string {
  return join(folder, digest.slice(0, 2), digest.slice(2));
}

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

describe("artifacts in a folder", () => {
  artifactContract(async (options) => openFolderArtifacts({ folder: await newFolder(), ...options }));

  it("finds bytes, releases and their age again after a restart; pins end with the process", async () => {
    const folder = await newFolder();
    const { digest } = await (await open(folder)).put(Buffer.from("kept"), "text/plain", anna);
    const again = await open(folder, 1);
    expect(await again.sweep(noneNeeded)).toBe(0);
    expect(Buffer.from((await again.open(digest, anna)).bytes).toString()).toBe("kept");
    expect(await (await open(folder)).sweep(async () => new Set([digest]))).toBe(0);
    expect(await (await open(folder)).sweep(noneNeeded)).toBe(1);
  });

  it("makes the folder, for its owner only", async () => {
    const folder = join(await newFolder(), "deep", "er");
    const { digest } = await (await open(folder)).put(Buffer.from("x"), "text/plain", anna);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(pathOf(folder, digest))).mode & 0o777).toBe(0o600);
  });

  it("knows the bytes of all artifacts from the first sweep on", async () => {
    const folder = await newFolder();
    await (await open(folder)).put(Buffer.from("12345"), "text/plain", anna);
    const store = await open(folder);
    expect(store.totalBytes).toBeUndefined();
    const { digest } = await store.put(Buffer.from("123"), "text/plain", anna);
    expect(await store.sweep(noneNeeded)).toBe(1); // the other one is held
    expect(store.totalBytes).toBe(3);
    await store.put(Buffer.from("1234567"), "text/plain", anna);
    await store.put(Buffer.from("123"), "text/plain", anna);
    expect(store.totalBytes).toBe(10);
    await store.unpin(digest);
  });

  it("writes equal bytes once", async () => {
    const folder = await newFolder();
    const store = await open(folder);
    const { digest } = await store.put(Buffer.from("once"), "text/plain", anna);
    const { ino } = await stat(pathOf(folder, digest));
    await store.put(Buffer.from("once"), "text/plain", { ...anna, user: "ben" });
    expect((await stat(pathOf(folder, digest))).ino).toBe(ino);
  });

  it("refuses bytes that were changed on the disk, and heals them when they are put again", async () => {
    const folder = await newFolder();
    const store = await open(folder);
    const { digest } = await store.put(Buffer.from("genuine"), "text/plain", anna);
    await truncate(pathOf(folder, digest), 3);
    await expect(store.open(digest, anna)).rejects.toMatchObject({ code: "artifact_unavailable" });
    await store.put(Buffer.from("genuine"), "text/plain", anna);
    expect(Buffer.from((await store.open(digest, anna)).bytes).toString()).toBe("genuine");
  });

  it("forgets half-written files and unknown bytes", async () => {
    const folder = await newFolder();
    const store = await open(folder);
    const { digest } = await store.put(Buffer.from("crashed"), "text/plain", anna);
    await rm(`${pathOf(folder, digest)}.json`);
    await writeFile(join(folder, "tmp", "draft"), "half");
    const again = await open(folder);
    expect(await readdir(join(folder, "tmp"))).toEqual([]);
    expect(await again.sweep(noneNeeded)).toBe(1);
    expect(await again.mayUse(digest, anna)).toBe(false);
    expect(await readdir(join(folder, digest.slice(0, 2)))).toEqual([]);
  });

  it("neither offers nor sweeps an artifact whose sidecar cannot be read", async () => {
    const folder = await newFolder();
    const store = await open(folder);
    const { digest } = await store.put(Buffer.from("unclear"), "text/plain", anna);
    await writeFile(`${pathOf(folder, digest)}.json`, "{");
    expect(await store.mayUse(digest, anna)).toBe(false);
    await expect(store.open(digest, anna)).rejects.toMatchObject({ code: "artifact_unavailable" });
    expect(await store.sweep(noneNeeded)).toBe(0);
    expect(await readFile(pathOf(folder, digest), "utf8")).toBe("unclear");
  });

  it("leaves nothing behind when bytes cannot be written", async () => {
    const folder = await newFolder();
    const store = await open(folder);
    const { digest } = await (await open(await newFolder())).put(Buffer.from("x"), "a/b", anna);
    await mkdir(pathOf(folder, digest), { recursive: true });
    await expect(store.put(Buffer.from("x"), "a/b", anna)).rejects.toThrow();
    expect(await readdir(join(folder, "tmp"))).toEqual([]);
    expect(await store.mayUse(digest, anna)).toBe(false);
  });
});
