import { appendFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aLogStore, noteSome } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { openAuditLog } from "./audit-log.ts";
import { createSigner } from "./signer.ts";

const signer = createSigner();
let clock = new FakeClock();
let store = aLogStore(clock);
let problems: string[] = [];
let folder = "";
let anchorFile = "";

beforeEach(async () => {
  clock = new FakeClock();
  store = aLogStore(clock);
  problems = [];
  folder = await mkdtemp(join(tmpdir(), "postern-audit-"));
  anchorFile = join(folder, "audit.anchors");
});
afterEach(() => rm(folder, { recursive: true }));

const open = (path: string = anchorFile) =>
  openAuditLog({
    store,
    clock,
    signer,
    log: (problem) => problems.push(problem),
    anchorFile: path,
  });

describe("the anchor file", () => {
  it("stores each checkpoint outside the store, readable only by its owner", async () => {
    await using log = await open();
    await noteSome(store, 2);
    await clock.advance(1000);
    await noteSome(store, 2);
    const last = await log.checkpoint();
    const lines = (await readFile(anchorFile, "utf8")).split("\n");
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[1] ?? "")).toBe(last);
    expect((await stat(anchorFile)).mode & 0o777).toBe(0o600);
  });

  it("shows that table and checkpoints were cut off together", async () => {
    await noteSome(store, 9);
    await (await open())[Symbol.asyncDispose]();
    store = aLogStore(clock);
    await noteSome(store, 4);
    await using log = await open();
    expect(problems).toEqual([expect.stringContaining("signs 9 entries, but only 4 are left")]);
    expect(await log.verify()).toMatchObject({
      intact: false,
      why: expect.stringContaining("cut off"),
    });
  });

  it("continues after half a line", async () => {
    await writeFile(anchorFile, '"postern/half');
    await using log = await open();
    await noteSome(store, 1);
    await log.checkpoint();
    await appendFile(anchorFile, '"torn again');
    expect(await log.verify()).toMatchObject({ intact: true });
    expect((await readFile(anchorFile, "utf8")).split("\n")).toHaveLength(3);
  });

  it("ignores an empty file and lines that are no notes", async () => {
    await writeFile(anchorFile, "");
    await using log = await open();
    await noteSome(store, 1);
    await log.checkpoint();
    expect((await readFile(anchorFile, "utf8")).startsWith('"postern/')).toBe(true);
    await appendFile(anchorFile, "7\n");
    expect(await log.verify()).toMatchObject({ intact: true });
    await appendFile(anchorFile, '"no note"\n');
    expect(await log.verify()).toMatchObject({ intact: false });
    await (await open())[Symbol.asyncDispose]();
    expect(problems).toEqual([]);
  });

  it("is reported if it cannot be read", async () => {
    await expect(open(folder)).rejects.toMatchObject({ code: "EISDIR" });
    await using log = await open();
    await mkdir(anchorFile);
    await noteSome(store, 1);
    await log.checkpoint();
    expect(problems).toEqual([expect.stringContaining("could not be written: EISDIR")]);
  });

  it("gets the checkpoints that could not be written, from the next start too, without an alarm", async () => {
    const late = join(folder, "later", "anchors");
    const first = await open(late);
    for (let i = 0; i < 3; i += 1) {
      await noteSome(store, 1);
      await first.checkpoint();
    }
    const waiting = /cannot be written: 3 checkpoints of 3 could not be added to it yet/;
    expect(await first.verify()).toMatchObject({ outcome: "failed", problems: [expect.stringMatching(waiting)] });
    await first[Symbol.asyncDispose]();
    await mkdir(join(folder, "later"));
    await using log = await open(late);
    expect((await readFile(late, "utf8")).trimEnd().split("\n")).toHaveLength(3);
    expect(await log.verify()).toMatchObject({ intact: true, outcome: "ok" });
    await rm(late);
    expect(await log.verify()).toMatchObject({ intact: true, outcome: "failed" });
    await (await open(late))[Symbol.asyncDispose]();
    expect(await log.verify()).toMatchObject({ intact: true, outcome: "failed" });
  });

  it("gets no checkpoint that is not signed by the log's key", async () => {
    await noteSome(store, 1);
    const body = { edge: { roots: [], size: 1 }, note: "forged\n1\nAAAA\n" };
    const forged = { write: "document", kind: "checkpoint", id: "0000000000000001", body, expectedVersion: 0 } as const;
    await store.commit(forged, "committed");
    await using log = await open();
    expect(await log.verify()).toMatchObject({ intact: false });
    expect(await readFile(anchorFile, "utf8").catch(() => "")).not.toContain("forged");
  });

  it("is reported if it cannot be written, and stops nothing", async () => {
    await using log = await open(join(folder, "missing", "anchors"));
    await noteSome(store, 1);
    expect(await log.checkpoint()).toContain("postern/");
    expect(problems).toEqual([expect.stringContaining("The anchor file could not be written: ENOENT")]);
  });

  it("of a shared log has what its own process signed, in any order, and shows what was removed", async () => {
    const shared = (path: string) =>
      openAuditLog({
        store,
        clock,
        signer,
        isShared: true,
        log: (problem) => problems.push(problem),
        anchorFile: path,
      });
    const [mine, theirs] = [join(folder, "mine"), join(folder, "later", "theirs")];
    await using a = await shared(mine);
    await using b = await shared(theirs);
    for (const log of [a, b, a, b, a]) {
      await noteSome(store, 1);
      await log.checkpoint();
    }
    expect(await a.verify()).toMatchObject({ outcome: "ok" });
    const waiting = /cannot be written: \d checkpoints of \d could not be added to it yet/;
    expect(await b.verify()).toMatchObject({ outcome: "failed", problems: [expect.stringMatching(waiting)] });
    await mkdir(join(folder, "later"));
    await noteSome(store, 1);
    await b.checkpoint();
    expect(await b.verify()).toMatchObject({ outcome: "ok" });
    const lines = (await readFile(mine, "utf8")).split("\n");
    await writeFile(mine, lines.slice(1).join("\n"));
    await using again = await shared(mine);
    expect(await again.verify()).toMatchObject({
      intact: true,
      problems: [expect.stringContaining("was shortened or changed: 1 of")],
    });
    await rm(mine);
    expect(await again.verify()).toMatchObject({ problems: [expect.stringContaining("is missing, empty")] });
    expect(await b.verify()).toMatchObject({ outcome: "ok" });
  });
});
