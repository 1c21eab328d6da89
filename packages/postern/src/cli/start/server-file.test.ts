import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import {
  findServer,
  findServerOrLock,
  readServerFile,
  removeServerFile,
  writeServerFile,
  writeStarting,
  writeStopping,
} from "./server-file.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-server-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "server.json");
const listening = createServer().listen(0, "127.0.0.1");
await once(listening, "listening");
afterAll(() => void listening.close());
const { port } = listening.address() as AddressInfo; // of TCP
const mine = { port, pid: process.pid, url: `http://127.0.0.1:${port}` };

it("says where a running Postern is, to its owner alone, and leaves nothing behind", () => {
  writeServerFile(folder, mine);
  expect(readServerFile(folder)).toEqual(mine);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["server.json"]);
  removeServerFile(folder);
  expect(readServerFile(folder)).toBeUndefined();
});

it("does not believe the file of a process that is gone", () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  writeServerFile(folder, { ...mine, pid });
  expect(readServerFile(folder)).toBeUndefined();
});

it("does not believe the file in a copy of the folder, and believes it when the folder was moved", () => {
  const [used, copy, moved] = ["used", "copy", "moved"].map((name) => join(folder, name)) as [string, string, string];
  mkdirSync(used);
  writeServerFile(used, mine);
  cpSync(used, copy, { recursive: true });
  expect(readServerFile(copy)).toBeUndefined();
  renameSync(used, moved);
  expect(readServerFile(moved)).toEqual(mine);
  for (const made of [copy, moved]) rmSync(made, { recursive: true });
});

it("does not remove its successor's file", () => {
  writeServerFile(folder, { ...mine, pid: process.ppid });
  removeServerFile(folder);
  expect(readServerFile(folder)?.pid).toBe(process.ppid);
});

it.each([
  "",
  "{",
  "[]",
  '{"port":1}',
  JSON.stringify({ ...mine, url: "http://evil.example:7420" }),
  JSON.stringify({ ...mine, url: "http://127.0.0.1:1@evil.example" }),
])("takes the tokens nowhere that %j says", (text) => {
  writeFileSync(file, text);
  expect(readServerFile(folder)).toBeUndefined();
});

it("waits for one that is being started, not for oneself, for one that died, or for ever", async () => {
  const startingIn = (pid: number): void => writeFileSync(file, JSON.stringify({ pid, state: "starting" }));
  const clock = new FakeClock();
  const printed: string[] = [];
  startingIn(process.ppid);
  const found = findServer(folder, clock, () => void printed.push("waiting"));
  await clock.advance(300);
  expect(printed).toEqual(["waiting"]);
  writeServerFile(folder, { ...mine, pid: process.ppid });
  await clock.advance(100);
  expect(await found).toEqual({ ...mine, pid: process.ppid });

  startingIn(process.ppid);
  const never = findServer(folder, clock);
  await clock.advance(31_000);
  expect(await never).toBeUndefined();

  startingIn(spawnSync(process.execPath, ["--version"]).pid);
  expect(await findServer(folder, clock)).toBeUndefined();
  writeStarting(folder);
  expect(await findServer(folder, clock)).toBeUndefined();
  removeServerFile(folder);
  expect(readdirSync(folder)).toEqual([]);
});

it("waits for another command's lock, releases its own, and goes on without it after half a minute", async () => {
  const clock = new FakeClock();
  const printed: string[] = [];
  const look = () => findServerOrLock(folder, clock, (what) => void printed.push(what));
  const other = JSON.stringify({ pid: process.ppid, state: "command" });
  writeFileSync(file, other);
  const found = look();
  await clock.advance(300);
  rmSync(file);
  await clock.advance(100);
  const mineNow = await found;
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ pid: process.pid, state: "command" });
  if ("lock" in mineNow) mineNow.lock[Symbol.dispose]();
  expect(readdirSync(folder)).toEqual([]);

  writeFileSync(file, other);
  const never = look();
  await clock.advance(31_000);
  const without = await never;
  if ("lock" in without) without.lock[Symbol.dispose]();
  expect(readFileSync(file, "utf8")).toBe(other);
  expect(printed).toEqual(["command", "command"]);

  writeServerFile(folder, { ...mine, pid: process.ppid });
  expect(await look()).toEqual({ server: { ...mine, pid: process.ppid } });
  rmSync(file);
});

it.each([
  ["another process has its number", process.ppid],
  ["this one has it, as the first of a container always has", process.pid],
])("what a killed Postern left is not believed: %s", async (_, pid) => {
  const clock = new FakeClock();
  writeServerFile(folder, { port: 1, pid, url: "http://127.0.0.1:1" });
  expect(await findServer(folder, clock)).toBeUndefined();
  const found = await findServerOrLock(folder, clock, () => {});
  expect(found).not.toHaveProperty("server");
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ pid: process.pid, state: "command" });
  if ("lock" in found) found.lock[Symbol.dispose]();
  expect(readdirSync(folder)).toEqual([]);
});

it("a folder that is gone holds no stop up", () => {
  expect(() => writeStopping(join(folder, "gone"))).not.toThrow();
});

it("a folder that cannot be one is reported, with what to do", () => {
  for (const [name, path] of [
    ["a file", file],
    ["beneath a file", join(file, "data")],
  ] as const) {
    writeFileSync(file, "");
    expect(() => writeStarting(path), name).toThrow(
      expect.objectContaining({
        code: "data_folder_unusable",
        message: expect.stringContaining(`\`${path}\` cannot be used as data folder (E`),
      }),
    );
  }
});
