/** Files of the store that vanish: while Postern runs, and between two starts. */
import { copyFileSync, cpSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Runtime } from "../../packages/postern/src/index.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const mail = { tool: "mail", arguments: { to: "ann" } };
const echo = { tool: "echo", arguments: { to: "ann" } };

function fixtureIn(folder: string, log?: (problem: string) => void): Promise<RuntimeFixture> {
  const store = `sqlite:${join(folder, "postern.db")}`;
  return runtimeFixture({ store, folder, autonomy: "A4", ...(log !== undefined && { log }) });
}

async function healthOf(runtime: Runtime): Promise<readonly [number, unknown]> {
  await using web = await httpFixture(runtime);
  const response = await web.ask("/healthz", { as: "operator" });
  return [response.status, await response.json()];
}

/** Puts a copy in the place of the file. The copy has another inode. */
function replace(file: string): void {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
}

describe("a store file that changes under a Postern that runs", () => {
  const losses: Readonly<Record<string, (folder: string) => void>> = {
    "the file is removed": (folder) => rmSync(join(folder, "postern.db")),
    "the file is renamed": (folder) => renameSync(join(folder, "postern.db"), join(folder, "other.db")),
    "the file is replaced by a copy": (folder) => replace(join(folder, "postern.db")),
    "the file is replaced by an empty one": (folder) => {
      rmSync(join(folder, "postern.db"));
      writeFileSync(join(folder, "postern.db"), "");
    },
    "the write-ahead log is removed": (folder) => rmSync(join(folder, "postern.db-wal")),
    "the write-ahead log is replaced by a copy": (folder) => replace(join(folder, "postern.db-wal")),
    "the data folder is renamed": (folder) => renameSync(folder, `${folder}-moved`),
    "the data folder is replaced by a copy": (folder) => {
      cpSync(folder, `${folder}-copy`, { recursive: true });
      renameSync(folder, `${folder}-moved`);
      renameSync(`${folder}-copy`, folder);
    },
  };

  it.each(Object.keys(losses))("refuses calls with `store_lost` when %s", async (loss) => {
    const folder = join(ownFolder(), "data");
    mkdirSync(folder);
    const problems: string[] = [];
    await using made = await fixtureIn(folder, (problem) => void problems.push(problem));
    const { runtime, ran } = made;
    expect((await runtime.invoke(mail, asker)).status).toBe("ok");
    expect((await healthOf(runtime))[0]).toBe(200);
    losses[loss]?.(folder);
    const refused = await runtime.invoke({ ...mail, arguments: { to: "bob" } }, asker);
    expect(refused).toMatchObject({ status: "error", refusal: { code: "store_lost", retry: "later" } });
    expect(refused.refusal?.message).toContain(join(folder, "postern.db"));
    expect(ran).toEqual([{ to: "ann" }]);
    for (const request of [echo, { tool: "none", arguments: {} }])
      expect((await runtime.invoke(request, asker)).refusal?.code).toBe("store_lost");
    const problem = expect.stringContaining("The store is lost");
    expect(await healthOf(runtime)).toEqual([503, { status: "broken", problem }]);
    expect(runtime.alarms.list()).toMatchObject([{ kind: "store_broken", state: "open", data: { stopped: true } }]);
    expect(await runtime.audit.verify()).toMatchObject({ outcome: "failed" });
    expect(problems.join()).toContain("Put the right file in its place and start again.");
  });

  it("is noticed by the health check without any call", async () => {
    const folder = ownFolder();
    await using made = await fixtureIn(folder);
    rmSync(join(folder, "postern.db"));
    expect((await healthOf(made.runtime))[0]).toBe(503);
  });

  it("leaves the log of the copy in its place alone when it is closed", async () => {
    const folder = ownFolder();
    const made = await fixtureIn(folder);
    await made.runtime.invoke(mail, asker);
    for (const name of ["postern.db", "postern.db-wal"]) replace(join(folder, name));
    expect((await made.runtime.invoke(mail, asker)).refusal?.code).toBe("store_lost");
    await made.runtime.close();
    await using again = await fixtureIn(folder);
    expect(await again.runtime.calls.list({ tool: "mail" })).toHaveLength(1);
    expect(await again.runtime.audit.verify()).toMatchObject({ outcome: "ok" });
  });
});

describe("a store whose process was killed", () => {
  /** The files of a life that is killed before its first checkpoint. */
  async function killedLife(): Promise<string> {
    const [folder, left] = [ownFolder(), ownFolder()];
    await using made = await fixtureIn(folder);
    expect((await made.runtime.invoke(mail, asker)).status).toBe("ok");
    for (const name of readdirSync(folder, { recursive: false, encoding: "utf8" }).filter((one) =>
      /^(postern|audit)/.test(one),
    ))
      copyFileSync(join(folder, name), join(left, name));
    return left;
  }

  const log = (folder: string): string => join(folder, "postern.db-wal");
  it.each<[string, (folder: string) => void]>([
    ["is missing", (folder) => rmSync(log(folder))],
    ["is empty", (folder) => truncateSync(log(folder))],
    ["holds only zeros", (folder) => writeFileSync(log(folder), Buffer.alloc(8_192))],
  ])("says that calls may be gone if its write-ahead log %s", async (_, harm) => {
    const folder = await killedLife();
    harm(folder);
    const problems: string[] = [];
    await using made = await fixtureIn(folder, (problem) => void problems.push(problem));
    const lost = expect.stringContaining("calls that it recorded may be gone");
    expect(problems).toEqual([lost]);
    expect(made.runtime.alarms.list()).toMatchObject([{ kind: "audit_not_intact", severity: "critical" }]);
    expect(await made.runtime.audit.verify()).toMatchObject({
      integrity: "intact",
      outcome: "failed",
      problems: [lost],
    });
  });

  it("is complete if both files are there, and after every clean end", async () => {
    const folder = await killedLife();
    for (let start = 0; start < 3; start += 1) {
      const problems: string[] = [];
      await using made = await fixtureIn(folder, (problem) => void problems.push(problem));
      expect(await made.runtime.calls.list({ tool: "mail" })).toHaveLength(1);
      expect(await made.runtime.audit.verify()).toMatchObject({ intact: true, outcome: "ok" });
      expect(problems).toEqual([]);
    }
  });

  it("says that entries are gone which the run folders have", async () => {
    const folder = ownFolder();
    const open = (): Promise<RuntimeFixture> =>
      runtimeFixture({
        store: `sqlite:${join(folder, "postern.db")}`,
        folder,
        archive: { folder: join(folder, "runs") },
      });
    const first = await open();
    for (let i = 0; i < 5; i += 1) await first.runtime.invoke(echo, asker);
    await first.runtime.close();
    for (const name of ["postern.db", "audit.anchors"]) rmSync(join(folder, name));
    await using made = await open();
    const gone = expect.stringMatching(/The run folders in .* follow 1\d entries .* has only \d/);
    expect((await made.runtime.audit.verify()).problems).toEqual([gone]);
    expect(made.runtime.alarms.list()).toMatchObject([{ kind: "audit_not_intact" }]);
  });
});
