import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { ancestorsOf } from "../../../../test/fakes/ancestors.ts";
import { isAlive } from "../../../system/alive.ts";
import { run, start } from "./fork-server.ts";
import { type Started, startHere, type ToStart } from "./started.ts";

const program = (source: string): ToStart => ({
  ...{ command: "/bin/sh", args: ["-c", source], environment: { GREETING: "it's\nhere" }, folder: tmpdir() },
  niceness: 7,
});
const serverUrl = new URL("./fork-server.ts", import.meta.url).href;

/** A host that does this, and says what it prints. */
function host(source: string): ChildProcess {
  return spawn(process.execPath, ["--input-type=module", "-e", source], { stdio: ["ignore", "pipe", "inherit"] });
}

async function firstWordsOf({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("It has no output.");
  const [said]: unknown[] = await once(stdout, "data");
  return String(said).trim();
}

async function said(child: Started): Promise<readonly string[]> {
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await child.ended;
  return [out, err];
}

it.each([
  ["the fork server", start],
  ["this process", startHere],
])("what %s starts has what it was given, begins where it shall, and is its own group and session", async (_, by) => {
  const child = await by(program('pwd; echo "$GREETING"; echo late >&2; cut -d " " -f 5,6 /proc/$$/stat; env | wc -l'));
  const [out = "", err] = await said(child);
  const [folder, ...rest] = out.trim().split("\n");
  expect([folder, rest.slice(0, 2), err]).toEqual([tmpdir(), ["it's", "here"], "late\n"]);
  expect((rest[2] ?? "").trim().split(/\s+/)).toEqual([`${child.pid}`, `${child.pid}`]);
  expect(await child.ended).toEqual({ code: 0, signal: null });
});

it.each([
  ["the fork server", start],
  ["this process", startHere],
])("what is written to what %s started arrives whole, and so does what it writes", async (_, by) => {
  const child = await by(program("head -c 5000000"));
  const bytes = Buffer.alloc(5_000_000, "0123456789");
  child.stdin.write(bytes);
  expect((await buffer(child.stdout)).equals(bytes)).toBe(true);
});

it.each([
  ["the fork server", start],
  ["this process", startHere],
])("the end of what %s started is told as it was", async (_, by) => {
  const ends = await Promise.all(
    ["exit 3", "kill -s KILL $$", "kill -s TERM $$"].map(async (source) => {
      const child = await by(program(source));
      await said(child);
      return child.ended;
    }),
  );
  expect(ends).toEqual([
    { code: 3, signal: null },
    { code: null, signal: "SIGKILL" },
    { code: null, signal: "SIGTERM" },
  ]);
});

it.each([
  ["the fork server", start],
  ["this process", startHere],
])("a program that is not there is refused by %s with its path", async (_, by) => {
  await expect(by({ ...program(""), command: "/usr/bin/nothing-here" })).rejects.toThrow("/usr/bin/nothing-here");
});

it("a hundred are started at once, and nothing of them is left, not even a name", async () => {
  const names = (): readonly string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith(`postern-pipes-${process.pid}-`));
  const all = await Promise.all(Array.from({ length: 100 }, (_, at) => start(program(`echo ${at}; exec cat`))));
  const heard = all.map(({ stdout }) => once(stdout, "data"));
  expect((await Promise.all(heard)).map(([chunk]) => Number(chunk))).toEqual(all.map((_, at) => at));
  const folders = names();
  expect(folders).toHaveLength(1);
  await expect.poll(() => folders.flatMap((name) => readdirSync(join(tmpdir(), name)))).toEqual([]);
  for (const { pid } of all) process.kill(-pid, "SIGKILL");
  await Promise.all(all.map(({ ended }) => ended));
  expect(all.map(({ isGone }) => isGone)).toEqual(all.map(() => true));
  await start(program("exit 0")); // the shell clears up with its next command
  expect(all.filter(({ pid }) => isAlive(pid))).toEqual([]);
});

it("a fork server that was killed takes nothing with it: what it started goes on, is ended, and told of; the next one starts", async () => {
  const child = await start(program("echo begun; exec cat"));
  await once(child.stdout, "data");
  const [, server = 0] = ancestorsOf(child.pid);
  process.kill(server, "SIGKILL");
  child.stdin.write("still there");
  expect(String(await once(child.stdout, "data"))).toBe("still there");
  const next = await start(program("echo next"));
  expect(await said(next)).toEqual(["next\n", ""]);
  process.kill(-child.pid, "SIGKILL");
  expect(await child.ended).toEqual({ code: null, signal: "SIGKILL" });
});

it("one whose end nobody is left to tell of is known to be gone all the same", async () => {
  const child = await start(program("echo begun; exec cat"));
  await once(child.stdout, "data");
  const [teller = 0] = ancestorsOf(child.pid);
  process.kill(teller, "SIGKILL");
  process.kill(-child.pid, "SIGKILL");
  expect(await child.ended).toEqual({ code: null, signal: null });
}, 20_000);

it("a small program that fails is told of with what it said", async () => {
  await run("/bin/sh", ["-c", "exit 0"]);
  await expect(run("/bin/sh", ["-c", "echo 'no  such\nthing' >&2; exit 2"])).rejects.toThrow(/no\s+such\s+thing/);
});

it("what is kept ends with a host that was killed, and nothing else does", async () => {
  const source = `import { spawn } from "node:child_process";
    import { keepWithUs, letGo, start } from "${serverUrl}";
    const [one, other] = [1, 2].map(() => spawn("sleep", ["600"], { detached: true, stdio: "ignore" }));
    for (const { pid } of [one, other]) keepWithUs(pid);
    letGo(other.pid);
    const third = await start({ command: "/bin/sh", args: ["-c", "while :; do :; done"], environment: {}, folder: "/", niceness: 5 });
    keepWithUs(third.pid);
    console.log(one.pid, third.pid, other.pid);
    setInterval(() => undefined, 1000);`;
  const living = host(source);
  const [one = 0, third = 0, free = 0] = (await firstWordsOf(living)).split(" ").map(Number);
  try {
    expect([one, third, free].map(isAlive)).toEqual([true, true, true]);
    living.kill("SIGKILL");
    await expect.poll(() => [one, third].map(isAlive)).toEqual([false, false]);
    expect(isAlive(free)).toBe(true);
  } finally {
    process.kill(free, "SIGKILL");
  }
});

it("it keeps no host alive, and one that is held does", async () => {
  const idle = host(
    `import { keepWithUs, start } from "${serverUrl}";
    keepWithUs(2 ** 30);
    const child = await start({ command: "/bin/cat", args: [], environment: {}, folder: "/", niceness: 5 });
    child.hold(false);`,
  );
  expect(await once(idle, "exit")).toEqual([0, null]);
  const held = host(
    `import { start } from "${serverUrl}";
    const child = await start({ command: "/bin/sh", args: ["-c", "sleep 0.3; exit 7"], environment: {}, folder: "/", niceness: 5 });
    child.stdout.resume(); child.stderr.resume();
    console.log(JSON.stringify(await child.ended));`,
  );
  expect(await firstWordsOf(held)).toBe('{"code":7,"signal":null}');
});
