/** A disk that is nearly full when Postern starts. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { loadSigner } from "../../packages/postern/src/audit/signer.ts";
import { writeServerFile, writeStarting } from "../../packages/postern/src/cli/start/server-file.ts";
import { createRuntime } from "../../packages/postern/src/index.ts";
import { openCredentials } from "../../packages/postern/src/server/credentials.ts";
import { writeWhole, writeWholeUnsynced } from "../../packages/postern/src/system/whole-file.ts";
import { CommandLine } from "../fakes/command-line.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const isRoot = process.getuid?.() === 0 && process.platform === "linux";
const mounted: string[] = [];
afterEach(() => {
  for (const folder of mounted.splice(0)) execFileSync("/usr/bin/umount", [folder]);
});

function smallDisk(bytes: number): string {
  const folder = join(ownFolder(), "disk");
  mkdirSync(folder);
  execFileSync("/usr/bin/mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "none", folder]);
  mounted.push(folder);
  return folder;
}

/** Returns false when the disk is full. Empty files too need room on this disk. */
function tryWrite(path: string): boolean {
  try {
    writeFileSync(path, "x");
    return true;
  } catch {
    return false;
  }
}

function openStoreIn(folder: string): Promise<unknown> {
  return createRuntime({ store: `sqlite:${join(folder, "postern.db")}` });
}

const options = (folder: string, log: (problem: string) => void) =>
  ({ store: `sqlite:${join(folder, "postern.db")}`, folder, archive: { folder: join(folder, "runs") }, log }) as const;

describe.runIf(isRoot)("a disk with little room", () => {
  it.each([400_000, 3_000_000, 6_000_000, 10_000_000])(
    "of %i bytes is enough to start, call, stop and start again, and is named",
    async (bytes) => {
      const folder = smallDisk(bytes);
      const problems: string[] = [];
      for (let start = 0; start < 3; start += 1) {
        await using made = await runtimeFixture({ ...options(folder, (problem) => void problems.push(problem)) });
        const called = await made.runtime.invoke({ tool: "echo", arguments: { to: `${start}` } }, asker);
        expect(called.status).toBe("ok");
        expect(await made.runtime.audit.verify()).toMatchObject({ intact: true, outcome: "ok" });
        expect(statSync(join(folder, "postern.db-wal")).size).toBeLessThan(bytes / 2);
      }
      const named = expect.stringMatching(/The disk of `.*\/postern\.db-wal` has \d+ bytes left .*Make room soon/);
      expect(problems).toEqual([named, named, named]);
    },
  );

  it.each(Array.from({ length: 12 }, (_, pages) => 4096 * (2 + 4 * pages)))(
    "of %i bytes starts or is named as full, and never anything else",
    async (bytes) => {
      const folder = smallDisk(bytes);
      const started = await createRuntime(options(folder, () => undefined)).then(
        (runtime) => runtime.close().then(() => "started"),
        (error: unknown) => error,
      );
      const message = expect.stringMatching(/^The disk of `.*` is full \(\d+ bytes are free\)\. Make room/);
      if (started !== "started") expect(started).toMatchObject({ name: "RuntimeFault", code: "disk_full", message });
      expect(readdirSync(folder)).not.toContain("postern.db-journal");
    },
  );

  const written: Readonly<Record<string, (folder: string) => unknown>> = {
    "the key of the audit log": (folder) => loadSigner(folder),
    "the tokens": (folder) => openCredentials(folder),
    "the file of a running Postern": (folder) =>
      writeServerFile(folder, { port: 1, pid: 1, url: "http://127.0.0.1:1" }),
    "the file of a starting Postern": (folder) => writeStarting(folder),
    "the position of the run archive": (folder) => writeWholeUnsynced(join(folder, ".position.json"), "{}\n"),
    "the secrets": (folder) => writeWhole(join(folder, "secrets.age"), "x"),
    "the store": (folder) => openStoreIn(folder),
  };

  it.each(Object.keys(written))("that is full is named when %s is written", async (what) => {
    const folder = smallDisk(65_536);
    for (let i = 0; ; i += 1) if (!tryWrite(join(folder, `full-${i}`))) break;
    const write = async (): Promise<unknown> => written[what]?.(folder);
    const message = expect.stringMatching(new RegExp(`^The disk of \`${folder}.*\` is full \\(\\d+ bytes are free\\)`));
    await expect(write()).rejects.toMatchObject({ name: "RuntimeFault", code: "disk_full", message });
  });

  it("is named by a command, which does not call it unexpected", async () => {
    using cli = new CommandLine();
    const data = join(smallDisk(40_960), "data");
    mkdirSync(data, { mode: 0o700 });
    const ended = await cli.run("call", "echo", "text=1", "--data", data);
    expect(ended.code).toBe(1);
    expect(ended.err).toMatch(
      /^postern: The disk of `.*` is full \(\d+ bytes are free\)\. Make room on it and try again\.\n$/,
    );
  });
});
