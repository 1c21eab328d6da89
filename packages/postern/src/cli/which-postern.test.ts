import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import { asTypedHere, commandName } from "./command-name.ts";

/** Each start is a process, with engines and all. */
const patient = { timeout: 60_000 };
const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

describe("which Postern is meant", () => {
  const known = cli.dataFolder("known");

  it("a data folder that is not there is refused, with the one that was meant, and none is made", patient, async () => {
    await cli.run("call", "echo", "text=1", "--data", known);
    const mistyped = join(cli.folder, "konwn");
    for (const words of [["approvals"], ["call", "echo", "text=1"], ["secrets", "list"], ["tools", "--port", "1"]]) {
      const { code, out, err } = await cli.run(...words, "--data", mistyped);
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toContain(`There is no data folder \`${mistyped}\`. Did you mean \`--data ${known}\`?`);
    }
    const { err } = await cli.run("approvals", "--data", join(cli.folder, "nothing-like-it"));
    expect(err).toContain(`Beside it lies \`--data ${known}\`.`);
    expect(readdirSync(cli.folder).sort()).toEqual([".postern", "known", "postern.yaml", "tools.ts"]);
  });

  it("what looks at the configuration alone needs none, and leaves none", patient, async () => {
    const there = ["--data", join(cli.folder, "far", "away")];
    for (const words of [["policy", "warnings"], ["doctor"]])
      expect(await cli.run(...words, ...there)).toMatchObject({ code: 0 });
    expect(existsSync(join(cli.folder, "far"))).toBe(false);
  });

  it("doctor with a port looks where nothing was ever started, and starts nothing there", patient, async () => {
    const fresh = join(cli.folder, "fresh");
    const { code, out, err } = await cli.run("--port", "17421", "doctor", "--data", fresh);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("127.0.0.1:17421 is free");
    expect(out).toMatch(/opens; it offers \d+ tools/);
    expect(existsSync(fresh)).toBe(false);
  });

  it("every next command that is named asks the same one", async () => {
    const again = `--config postern.yaml --data ${known}`;
    const asked = await cli.run("call", "send", "text=hi", "--data", known, "--config", "postern.yaml");
    expect(asked.err).toMatch(new RegExp(`^Decide: {2}(npx )?postern ${again} approvals approve apr_`, "m"));
    expect(asked.err).not.toMatch(/^ *you /m); // the card is the agent's, who decides nothing
    expect(asked.err).toMatch(new RegExp(`\`(npx )?postern ${again} call send …\` again`));
    const nobody = await cli.run("channels", "test", "none", "--data", known);
    expect(nobody.err).toMatch(new RegExp(`\`(npx )?postern --data ${known} channels\` lists them`));
  });

  it("what Postern has to complain of names them too", patient, async () => {
    const altered = cli.dataFolder("altered");
    await cli.run("call", "echo", "text=1", "--data", altered);
    const alter = (): void => {
      const books = new DatabaseSync(join(altered, "postern.db"));
      books.exec("update document set body = replace(body, 'note', 'nope') where kind = 'checkpoint'");
      books.close();
    };
    alter();
    const named = new RegExp(`Run \`(npx )?postern --data ${altered} audit verify\``);
    expect((await cli.run("alarms", "--data", altered)).err).toMatch(named);
    alter();
    const { child, end } = await cli.start(altered);
    child.kill("SIGINT");
    expect((await end).err).toMatch(named);
  });
});

it("a command's flags are words of a shell", () => {
  expect(commandName({ data: "my data", port: "7421" })).toMatch(/^(npx )?postern --data 'my data' --port 7421$/);
  expect(asTypedHere("see `postern doctor`, not postern", "postern --data $&")).toBe(
    "see `postern --data $& doctor`, not postern",
  );
});

it("a taken port is reported before anything is started, and leaves nothing", patient, async () => {
  const taken = createServer();
  await new Promise<void>((listening) => taken.listen(0, "127.0.0.1", listening));
  const { port } = taken.address() as AddressInfo; // it listens on a port
  const { code, out, err } = await cli.run("start", "--port", String(port), "--data", join(cli.folder, "unmade"));
  await new Promise((closed) => taken.close(closed));
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toBe(
    `postern: Port ${port} on 127.0.0.1 is taken; stop what uses it or choose another with \`--port\` (0: a free one).\n`,
  );
  expect(existsSync(join(cli.folder, "unmade"))).toBe(false);
});

it("`start` says that it made the data folder, and the next one does not", patient, async () => {
  for (const isNew of [true, false]) {
    const { child, end } = await cli.start("fresh");
    child.kill("SIGTERM");
    expect((await end).out.includes("new: a fresh installation was made there")).toBe(isNew);
  }
});

it("a command that comes while `start` is still coming up waits for it, and asks it", patient, async () => {
  const data = ["--data", cli.dataFolder("starting")];
  const go = join(cli.folder, "go");
  writeFileSync(
    join(cli.folder, "slow.mjs"),
    `import { existsSync } from "node:fs";
while (!existsSync(${JSON.stringify(go)})) await new Promise((looked) => setTimeout(looked, 20));
export const late = { name: "late", description: "Late.", risk: "safe", effects: "read", idempotent: true,
  input: { type: "object" }, execute: () => "here" };`,
  );
  writeFileSync(join(cli.folder, "slow.yaml"), "tools: { modules: [./slow.mjs] }\n");
  const starting = cli.open(["start", "--config", "slow.yaml", "--port", "0", ...data]);
  await expect.poll(() => existsSync(join(cli.folder, "starting", "server.json")), { timeout: 30_000 }).toBe(true);
  const asking = cli.open(["call", "late", ...data]); // without the configuration: only the running one has it
  const [output] = await once(asking.child.stderr ?? process.stdin, "data");
  expect(String(output)).toBe("Postern is being started here; waiting for it.\n");
  const again = cli.open(["start", "--config", "slow.yaml", "--port", "0", ...data]);
  writeFileSync(go, "");
  expect(await asking.end).toMatchObject({ code: 0, out: "here\n" });
  expect(await again.end).toMatchObject({ code: 1, err: expect.stringContaining("Postern runs already on") });
  starting.child.kill("SIGTERM");
  expect(await starting.end).toMatchObject({ code: 0 });
  expect(existsSync(join(cli.folder, "starting", "server.json"))).toBe(false);
});

it("commands at once, where none runs, come one after another, and `start` after them", patient, async () => {
  const data = ["--config", "held.yaml", "--data", cli.dataFolder("books")];
  const serverFile = join(cli.folder, "books", "server.json");
  const [began, go] = [join(cli.folder, "began"), join(cli.folder, "go-on")];
  writeFileSync(
    join(cli.folder, "held.mjs"),
    `import { existsSync, writeFileSync } from "node:fs";
export const held = { name: "held", description: "Held.", risk: "safe", effects: "read", idempotent: true,
  input: { type: "object" }, execute: async () => {
    writeFileSync(${JSON.stringify(began)}, "");
    while (!existsSync(${JSON.stringify(go)})) await new Promise((looked) => setTimeout(looked, 20));
    return "here";
  } };`,
  );
  writeFileSync(join(cli.folder, "held.yaml"), "tools: { modules: [./held.mjs] }\n");
  const first = cli.open(["call", "held", ...data]);
  await expect.poll(() => existsSync(began), { timeout: 30_000 }).toBe(true);
  const others = [1, 2, 3].map(() => cli.open(["call", "held", ...data]));
  const starting = cli.open(["start", "--port", "0", ...data]);
  const printed = [...others, starting].map(({ child }) => once(child.stderr ?? process.stdin, "data"));
  expect((await Promise.all(printed)).map(String)).toEqual(
    Array(4).fill("Another command uses this store; waiting for it.\n"),
  );
  writeFileSync(go, "");
  for (const { end } of [first, ...others]) expect(await end).toMatchObject({ code: 0, out: "here\n" });
  await expect.poll(() => readFileSync(serverFile, "utf8"), { timeout: 30_000 }).toContain('"url"');
  starting.child.kill("SIGTERM");
  expect(await starting.end).toMatchObject({ code: 0 });
  expect(readdirSync(join(cli.folder, "books")).filter((name) => name.startsWith("server.json"))).toEqual([]);
});

it("a Postern that was killed hinders none, though its process number is another's now", patient, async () => {
  const data = cli.dataFolder("reused");
  const left = JSON.stringify({ port: 1, pid: process.ppid, url: "http://127.0.0.1:1" });
  writeFileSync(join(cli.folder, "reused", "server.json"), left);
  expect(await cli.run("audit", "verify", "--data", data)).toMatchObject({ code: 0, err: "" });
  writeFileSync(join(cli.folder, "reused", "server.json"), left);
  const { child, end } = await cli.start(data);
  child.kill("SIGTERM");
  expect(await end).toMatchObject({ code: 0 });
});

it("what a killed command left says nothing to the next one", async () => {
  const data = ["--data", cli.dataFolder("killed")];
  const { pid } = spawnSync(process.execPath, ["--version"]);
  writeFileSync(join(cli.folder, "killed", "server.json"), JSON.stringify({ pid, state: "command" }));
  expect(await cli.run("audit", "verify", ...data)).toMatchObject({ code: 0, err: "" });
  expect(existsSync(join(cli.folder, "killed", "server.json"))).toBe(false);
});
