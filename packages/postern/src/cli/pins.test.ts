import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Changing, read } from "../../../../test/fakes/changing.ts";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
const server = new Changing(read, { ...read, name: "write" });
/** Each command is a process that starts a server of its own. */
const patient = { timeout: 90_000 };
const folder = join(cli.folder, "pins");
const run = (...words: readonly string[]) => cli.runIn(folder, ...words);

beforeAll(() => {
  mkdirSync(join(folder, ".postern"), { recursive: true });
  const { command, args } = server.config();
  writeFileSync(
    join(folder, "postern.json"),
    JSON.stringify({ listen: { port: 0 }, servers: { files: { command, args } } }),
  );
});
afterAll(() => {
  cli[Symbol.dispose]();
  server[Symbol.dispose]();
});

it("a changed tool is listed as blocked, its change is shown escaped, and approving it frees it", patient, async () => {
  expect((await run("tools")).out).toMatch(/files__read +high +asks/);
  server.define({ ...read, description: "Re\u0430ds a file.\u200b" }, { ...read, name: "write" });
  const listed = await run("tools");
  expect(listed.out).toMatch(/files__read +high +blocked: changed +files +Reads a file\./);
  expect(listed.out).toContain("1 tool is blocked until an operator approves");
  const call = await run("call", "files__read", "path=a");
  expect(call).toMatchObject({ code: 1, err: expect.stringContaining("postern tools approve files__read") });
  const diff = await run("tools", "diff", "files__read");
  expect(diff.out).toContain("    - Reads a file.\n    + Re\\u{430}ds a file.\\u{200b}\n");
  const digits = /--definition ([0-9a-f]{12}) /.exec(diff.out)?.[1] ?? "";
  const approved = await run("tools", "approve", "files__read", "--definition", digits, "--reason", "seen", "--json");
  expect(JSON.parse(approved.out)).toMatchObject({ approved: [{ tool: "files__read", state: "pinned" }] });
  expect((await run("tools")).out).toMatch(/files__read +high +asks/);
});

it(
  "a definition that was not looked at is not approved, and nothing is approved twice or by accident",
  patient,
  async () => {
    server.define({ ...read, description: "New." }, { ...read, name: "write", title: "W" });
    expect(await run("tools", "approve", "files__read", "--definition", "0".repeat(12))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/look again with `.*postern tools diff files__read`/),
    });
    for (const words of [
      [],
      ["files__read", "--all", "files"],
      ["files__read", "--definition", "12"],
      ["--all", "nope"],
    ])
      expect((await run("tools", "approve", ...words)).code, words.join(" ")).toBe(2);
    const all = await run("tools", "approve", "--all", "files");
    expect(all.out).toMatch(/approved files__read[\s\S]*approved files__write/);
    expect((await run("tools", "approve", "--all", "files")).out).toBe("No tool of server files is blocked.\n");
  },
);

it("servers are listed with their state, and one is connected again only where Postern runs", patient, async () => {
  expect((await run("servers")).out).toMatch(/SERVER +STATE .*RESTARTS +STARTS\s+files +connected .*0 +at once/);
  const { code, err } = await run("servers", "reconnect", "files");
  expect([code, err]).toEqual([1, expect.stringContaining("needs a running Postern")]);
});
