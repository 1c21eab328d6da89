import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import { GuardedServer } from "../../../../test/fakes/guarded-server.ts";

const cli = new CommandLine();
const data = cli.dataFolder("connected");
const config = join(cli.folder, "connected.yaml");
const to = ["--data", data, "--config", config];
let guarded: GuardedServer;
beforeAll(async () => {
  guarded = await GuardedServer.start();
  await guarded.tell({ isOpen: true });
  const keyed = `{ url: ${guarded.url}, headers: { X-Api-Key: "secret://person/token" } }`;
  writeFileSync(config, `servers:\n  tracker: { url: ${guarded.url}, oauth: {} }\n  wiki: ${keyed}\n`);
}, 60_000);
afterAll(async () => {
  cli[Symbol.dispose]();
  await guarded[Symbol.asyncDispose]();
});

const run = (...words: readonly string[]) => cli.run(...words, ...to);

it("lists connections, takes a key from standard input, and revokes", async () => {
  expect(await cli.given("the key of ada\n", "connections", "set", "wiki", "token", ...to)).toMatchObject({
    ...{ code: 0, out: "Connected to wiki.\n" },
  });
  expect(existsSync(join(data, "secrets.key"))).toBe(true);
  for (const file of ["postern.db", "postern.db-wal"]
    .map((name) => join(data, name))
    .filter((path) => existsSync(path)))
    expect(readFileSync(file, "latin1")).not.toContain("the key of ada");
  const { out } = await run("connections");
  expect(out).toMatch(/SERVER +FOR +BY +STATE/);
  expect(out).toMatch(/tracker +you +sign-in +not connected/);
  expect(out).toMatch(/wiki +you +token +connected/);
  expect(out).not.toContain("the key");
  expect(await run("connections", "revoke", "wiki")).toMatchObject({ code: 0, out: "Revoked.\n" });
  expect(await run("connections", "revoke", "wiki")).toMatchObject({ out: "There was no connection.\n" });
});

it("prints the page of a sign-in only while Postern runs", async () => {
  const { code, err } = await run("connections", "sign-in", "tracker");
  expect(code).not.toBe(0);
  expect(err).toContain("needs a running Postern");
});
