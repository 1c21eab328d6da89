import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());
mkdirSync(join(cli.folder, "folder"));
writeFileSync(join(cli.folder, "bytes"), Buffer.from([0xff, 0xfe, 0x00, 0x1b]));
writeFileSync(join(cli.folder, "empty.log"), "");

const reading: readonly (readonly [words: readonly string[]])[] = [
  [["audit", "verify"]],
  [["audit", "verify", "empty.log", "--public-key"]],
  [["audit", "verify", "--against"]],
  [["chain", "run"]],
  [["policy", "test"]],
  [["policy", "simulate", "--policy"]],
  [["policy", "warnings", "--policy"]],
  [["runs", "begin", "run_1", "--prompt"]],
];

it.each(reading)("a file that %j names and that cannot be read is a usage error, with the reason", async (words) => {
  const run = async (file: string) => cli.run(...words, file);
  expect(await run("none.txt")).toMatchObject({
    code: 2,
    out: "",
    err: expect.stringMatching(/`none\.txt` is not there\.\n$/),
  });
  expect(await run("folder")).toMatchObject({
    code: 2,
    out: "",
    err: expect.stringMatching(/`folder` is a folder\.\n$/),
  });
});

it.each(reading.slice(1))("a file that %j names and that is no text is reported as such", async (words) => {
  const { code, err } = await cli.run(...words, "bytes");
  expect({ code: code !== 0, err }).toEqual({ code: true, err: expect.stringContaining("is not UTF-8 text.") });
});

it("a name that holds what would move the cursor is shown, not obeyed", async () => {
  const { err } = await cli.run("audit", "verify", "a\u001b[2Jb");
  expect(err).toBe("postern: `a␛[2Jb` is not there.\n");
  expect((await cli.run("a\u001b[2Jb")).err).toContain("unknown command 'a␛[2Jb'");
});

it.each([[["audit", "export"]]])("%j makes a new file or says why not, and what is there stays", async (words) => {
  await cli.run("call", "echo", "text=hi", "--run", "run_1");
  expect(await cli.run(...words, "none/out")).toMatchObject({
    code: 1,
    err: expect.stringMatching(/`none\/out` cannot be made: its folder `none` is not there\.\n$/),
  });
  expect(await cli.run(...words, "bytes")).toMatchObject({
    code: 1,
    err: expect.stringMatching(/`bytes` cannot be made: it is there already\. Name a file that is not there yet\.\n$/),
  });
  expect((await cli.run(...words, `${words[0]}.out`)).code).toBe(0);
  expect(existsSync(join(cli.folder, `${words[0]}.out`))).toBe(true);
});
