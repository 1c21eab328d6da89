import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { verifyExport, type Witness } from "../../packages/postern/src/audit/index.ts";
import { createRuntime, type Runtime } from "../../packages/postern/src/index.ts";
import { loopbackHosts } from "../../packages/postern/src/server/http/own-hosts.ts";
import { listen } from "../../packages/postern/src/server/http/serve.ts";
import { CommandLine } from "../fakes/command-line.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";

let folder = "";
let problems: string[] = [];
beforeEach(() => {
  folder = ownFolder();
  problems = [];
});
const database = (): string => join(folder, "postern.db");
const anchors = (): string => join(folder, "audit.anchors");

interface Watched {
  readonly witness?: Witness | { readonly file: string } | { readonly url: string; readonly token?: string };
}

function open(audit: Watched = {}): Promise<Runtime> {
  const log = (problem: string): void => void problems.push(problem);
  return createRuntime({
    store: `sqlite:${database()}`,
    folder,
    log,
    audit: { recheck: { enabled: false }, ...audit },
  });
}

/** Runs one process that writes some entries, each signed. */
async function live(entries: number, audit: Watched = {}): Promise<void> {
  await using runtime = await open(audit);
  for (let i = 0; i < entries; i += 1) {
    await runtime.note("example.said", `entry ${i}`);
    await runtime.audit.checkpoint();
  }
}

async function verified(audit: Watched = {}): Promise<Awaited<ReturnType<Runtime["audit"]["verify"]>>> {
  await using runtime = await open(audit);
  return await runtime.audit.verify();
}

describe("the anchor file", () => {
  const harms: Readonly<Record<string, () => void>> = {
    "is missing": () => rmSync(anchors()),
    "is empty": () => truncateSync(anchors()),
    "holds garbage": () => writeFileSync(anchors(), "\u0000garbage\nmore of it\n"),
    "holds notes of other sizes": () => writeFileSync(anchors(), "{}\n[]\n12\n"),
    "lost its first lines": () =>
      writeFileSync(anchors(), `${readFileSync(anchors(), "utf8").trimEnd().split("\n").at(-1)}\n`),
  };

  it.each(Object.keys(harms))("is reported by verify when it %s", async (harm) => {
    await live(5);
    expect(await verified()).toMatchObject({ intact: true, integrity: "intact", signer: "own", outcome: "ok" });
    harms[harm]?.();
    const found = await verified();
    expect(found).toMatchObject({ integrity: "intact", signer: "own", outcome: "failed" });
    expect(found.problems?.join()).toMatch(/audit\.anchors.*checkpoints are not in it/);
    expect(await verified()).toMatchObject({ outcome: "failed" }); // later checkpoints do not hide it
  });

  it("keeps an empty store from becoming a second log under its key, and leaves it empty", async () => {
    await live(3);
    const before = readFileSync(anchors(), "utf8");
    for (const end of ["", "-wal", "-shm"]) rmSync(`${database()}${end}`, { force: true });
    const refused = {
      code: "config_invalid",
      message: expect.stringMatching(/is empty, and .*audit\.anchors` signs a log of 3 entries/),
    };
    await expect(open()).rejects.toMatchObject(refused);
    await expect(open()).rejects.toMatchObject(refused);
    expect(readFileSync(anchors(), "utf8")).toBe(before);
  });

  it("is not written for a log that ends with its process", async () => {
    for (const _start of [1, 2]) {
      await using runtime = await createRuntime({ folder, log: (problem) => void problems.push(problem) });
      await runtime.note("example.said", "hello");
      await runtime.audit.checkpoint();
      expect(await runtime.audit.verify()).toMatchObject({ outcome: "ok" });
    }
    expect(problems).toEqual([]);
    await live(1); // a store in a file begins the log of this folder
    expect(await verified()).toMatchObject({ outcome: "ok" });
  });

  it("is reported while Postern runs, over HTTP and by the alarm", async () => {
    await using runtime = await open();
    await runtime.note("example.said", "one");
    expect(await runtime.audit.verify()).toMatchObject({ outcome: "ok" });
    rmSync(anchors());
    await using web = await httpFixture(runtime);
    const answer = await web.ask("/v1/audit/verify", { as: "operator" });
    expect(await answer.json()).toMatchObject({ integrity: "intact", signer: "own", outcome: "failed" });
    expect(await runtime.alarms.list()).toMatchObject([{ kind: "audit_not_intact" }]);
  });

  it("is complete again after a crash between a checkpoint and its anchor", async () => {
    await live(3);
    const lines = readFileSync(anchors(), "utf8").trimEnd().split("\n");
    writeFileSync(anchors(), `${lines.slice(0, -1).join("\n")}\n${lines.at(-1)?.slice(0, 20)}`);
    expect(await verified()).toMatchObject({ intact: true, outcome: "ok" });
  });
});

/** Three witnesses of a checkpoint; each test runs with all of them. */
const places: Readonly<Record<string, () => Promise<Watched & AsyncDisposable>>> = {
  "a file": async () => ({ witness: { file: join(ownFolder(), "heads") }, [Symbol.asyncDispose]: async () => {} }),
  "an object of the caller": async () => {
    const notes: string[] = [];
    const witness = { put: async (note: string) => void notes.push(note), latest: async () => notes.at(-1) };
    return { witness, [Symbol.asyncDispose]: async () => {} };
  },
  "another Postern": async () => {
    const other = await createRuntime();
    let port = 0;
    const web = await httpFixture(other, { hosts: () => loopbackHosts(port) });
    const listening = await listen({ handler: web.server, port: 0 });
    port = listening.port;
    return {
      witness: { url: `${listening.url}/v1/audit/heads/ours`, token: web.tokens.operator },
      [Symbol.asyncDispose]: async () => {
        await listening.close(0);
        await web[Symbol.asyncDispose]();
        await other.close();
      },
    };
  },
};

describe.each(Object.keys(places))("a witness: %s", (place) => {
  const witnessed = async (): Promise<Watched & AsyncDisposable> =>
    (await places[place]?.()) ?? Promise.reject(new Error("no place"));

  it("agrees with a log that was not touched", async () => {
    await using audit = await witnessed();
    await live(3, audit);
    expect(await verified(audit)).toMatchObject({ intact: true, outcome: "ok" });
    expect(problems).toEqual([]);
  });

  it("shows that entries, checkpoints and anchors were cut off together", async () => {
    await using audit = await witnessed();
    await live(2, audit);
    const books = readFileSync(database());
    const kept = readFileSync(anchors());
    await live(3, audit);
    for (const end of ["-wal", "-shm"]) rmSync(`${database()}${end}`, { force: true });
    writeFileSync(database(), books);
    writeFileSync(anchors(), kept);
    for (const _ of [1, 2]) {
      const found = await verified(audit);
      expect(found).toMatchObject({ intact: false, integrity: "broken", outcome: "failed" });
      expect(found).toMatchObject({ why: expect.stringMatching(/cut off/) });
    }
    expect(problems.join()).toMatch(/witness.*cut off/);
  });

  it("shows a log that was rewritten, also after it grew", async () => {
    await using audit = await witnessed();
    await live(2, audit);
    const books = readFileSync(database());
    const kept = readFileSync(anchors());
    await live(2, audit);
    for (const end of ["-wal", "-shm"]) rmSync(`${database()}${end}`, { force: true });
    writeFileSync(database(), books);
    writeFileSync(anchors(), kept);
    await live(2); // by the same key, unseen by the witness
    for (const entries of [1, 0]) {
      await using runtime = await open(audit);
      for (let i = 0; i < entries; i += 1) await runtime.note("example.said", "one more");
      await runtime.audit.checkpoint();
      expect(await runtime.audit.verify()).toMatchObject({ intact: false, integrity: "broken", outcome: "failed" });
    }
    expect(problems.join()).toMatch(/witness.*was rewritten/);
  });

  it("shows an entry that another program appended", async () => {
    await using audit = await witnessed();
    await live(3, audit);
    await live(1); // another process with the key in the same folder, which the witness does not see
    const found = await verified(audit);
    expect(found).toMatchObject({ integrity: "intact", outcome: "failed" });
    expect(found.problems?.join()).toMatch(/had \d+ entries when it was opened, but the witness's note signs \d+/);
  });
});

describe("a witness that cannot be reached", () => {
  it("is a problem that verify reports, and stops neither calls nor the end", async () => {
    const audit = { witness: { url: "http://127.0.0.1:9/heads" } };
    await live(2, audit);
    const found = await verified(audit);
    expect(found).toMatchObject({ intact: true, outcome: "failed" });
    expect(found.problems?.join()).toMatch(/witness of the audit log cannot be read/);
  });
});

async function exported({ audit }: Runtime): Promise<string> {
  let text = "";
  for await (const line of audit.export()) text += `${line}\n`;
  return text;
}

describe("an exported log", () => {
  it("answers integrity, signer and outcome for each key", async () => {
    await using runtime = await open();
    await runtime.note("example.said", "one");
    const lines = await exported(runtime);
    const publicKey = readFileSync(join(folder, "audit.pub"), "utf8");
    await using stranger = await createRuntime({ folder: ownFolder() });
    const foreign = (await exported(stranger)).split("\n")[0]?.split(" ").at(-1) ?? "";
    expect(await verifyExport(lines)).toMatchObject({ integrity: "intact", signer: "unproven", outcome: "ok" });
    expect(await verifyExport(lines, { publicKey })).toMatchObject({ signer: "trusted", outcome: "ok" });
    const other = await verifyExport(lines, { publicKey: foreign });
    expect(other).toMatchObject({ intact: false, integrity: "intact", signer: "foreign", outcome: "failed" });
    const changed = await verifyExport(lines.replace("one", "two"), { publicKey });
    expect(changed).toMatchObject({ intact: false, integrity: "broken", signer: "trusted", outcome: "failed" });
  });
});

describe("the command line", () => {
  const cli = new CommandLine();
  afterAll(() => cli[Symbol.dispose]());

  it("exits with 1 and prints all three answers when the anchors are gone", async () => {
    const data = cli.dataFolder("anchors");
    expect((await cli.run("call", "echo", "text=1", "--data", data)).code).toBe(0);
    const whole = await cli.run("audit", "verify", "--data", data);
    expect(whole).toMatchObject({ code: 0, out: expect.stringContaining("integrity intact, signer own, outcome ok") });
    writeFileSync(join(data, "audit.anchors"), "");
    const harmed = await cli.run("audit", "verify", "--data", data);
    expect(harmed.code).toBe(1);
    expect(harmed.out).toMatch(/FAILED.*audit\.anchors.*\nintegrity intact, signer own, outcome failed/);
  });
});
