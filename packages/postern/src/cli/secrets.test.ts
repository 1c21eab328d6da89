import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());
const value = "hunter2-hunter2-hunter2";

/** A tool module that borrows, and a server whose environment names a secret. */
function configure(name: string, secrets: string): readonly string[] {
  writeFileSync(
    join(cli.folder, "lending.ts"),
    `import { defineTool } from ${JSON.stringify(join(import.meta.dirname, "../tools/define.ts"))};
export const borrow = defineTool({ name: "borrow", description: "Borrows.", risk: "safe", idempotent: true, inputSchema: { type: "object" },
  execute: async (_, { secrets }) => { const text = (await secrets.get("mail", "password")).reveal(); return "it has " + text.length + ": " + text; } });
`,
  );
  writeFileSync(
    join(cli.folder, `${name}.yaml`),
    `tools:\n  modules: [./lending.ts]\nlisten:\n  port: 0\ndata: ${name}\n${secrets}`,
  );
  cli.dataFolder(name);
  return ["--config", `${name}.yaml`];
}

describe("postern secrets", () => {
  const config = configure("sealed", "");

  it("keeps a value that is read from standard input, lists names, and removes", async () => {
    expect(await cli.given(`${value}\n`, "secrets", "set", "mail", "password", ...config)).toEqual({
      code: 0,
      out: "Set mail/password. Use it in the configuration as secret://mail/password\n",
      err: "",
    });
    const again = await cli.given(value, "secrets", "set", "mail", "password", "--json", ...config);
    expect(JSON.parse(again.out)).toMatchObject({ reference: "secret://mail/password", replaced: true });
    expect((await cli.run("secrets", "list", ...config)).out).toBe("mail/password\n");
    expect(JSON.parse((await cli.run("secrets", "list", "--json", ...config)).out)).toEqual({
      secrets: [{ connector: "mail", key: "password", reference: "secret://mail/password" }],
    });
    for (const name of ["secrets.age", "secrets.key"])
      expect(statSync(join(cli.folder, "sealed", name)).mode & 0o777).toBe(0o600);
    await cli.given("another-value", "secrets", "set", "b", "c", ...config);
    expect(await cli.run("secrets", "remove", "b", "c", ...config)).toMatchObject({ code: 0, out: "Removed b/c.\n" });
    expect(await cli.run("secrets", "remove", "b", "c", ...config)).toMatchObject({
      code: 1,
      err: expect.stringContaining("There is no secret `b/c`"),
    });
  });

  it("has no command that shows a value", async () => {
    for (const verb of ["get", "show", "dump", "export", "reveal"])
      expect((await cli.run("secrets", verb, "mail", "password", ...config)).code).toBe(2);
    const { out } = await cli.run("secrets", "--help");
    expect(out.match(/^ {2}(\w+)/gm)?.map((word) => word.trim())).toEqual(["set", "remove", "list", "help"]);
  });

  it("does not take a value from the command line, and does not say it again", async () => {
    const refused = await cli.run("secrets", "set", "mail", "password", "typed-by-mistake", ...config);
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain("standard input");
    expect(refused.err).not.toContain("typed-by-mistake");
  });

  it.each<[string, string | Uint8Array, readonly string[], number, string]>([
    ["nothing", "", ["a", "b"], 1, "at least 6 characters"],
    ["white space", "            ", ["a", "b"], 1, "at least 6 characters"],
    ["a NUL", "hunter\0hunter", ["a", "b"], 1, "NUL"],
    ["a megabyte", "x".repeat(1_000_000), ["a", "b"], 1, "65536 bytes"],
    ["a name with a slash", value, ["a/b", "c"], 2, "not a name"],
    ["one name", value, ["a"], 2, "missing required argument"],
  ])("refuses %s, and changes nothing", async (_, input, names, code, printed) => {
    const before = readFileSync(join(cli.folder, "sealed/secrets.age"));
    const refused = await cli.given(input, "secrets", "set", ...names, ...config);
    expect(refused).toMatchObject({ code, out: "", err: expect.stringContaining(printed) });
    expect(readFileSync(join(cli.folder, "sealed/secrets.age")).equals(before)).toBe(true);
  });

  it("refuses to set what the configuration would never read, and says where to set it", async () => {
    const elsewhere = configure("elsewhere", "secrets:\n  backend: environment\n");
    const refused = await cli.given(value, "secrets", "set", "mail", "password", ...elsewhere);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("takes secrets from `environment`") });
    expect(existsSync(join(cli.folder, "elsewhere/secrets.age"))).toBe(false);
  });

  it("what is set while Postern runs is known to be a secret at once, lent by the next call, and masked in its answer", async () => {
    const running = configure("running", "");
    const started = cli.open(["start", ...running]);
    await once(started.child.stdout ?? started.child, "data");
    const missing = await cli.run("call", "borrow", ...running);
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("run `postern secrets set mail password`") });
    await cli.given(value, "secrets", "set", "mail", "password", ...running);
    expect(await cli.run("call", "borrow", ...running)).toMatchObject({ code: 0, out: "it has 23: [redacted]\n" });
    await cli.given("quite-another-value", "secrets", "set", "mail", "password", ...running);
    const typed = await cli.run("call", "borrow", "text=quite-another-value", ...running);
    expect(typed).toMatchObject({ code: 3, err: expect.stringContaining("secret_in_arguments") }); // known before it is lent
    expect((await cli.run("call", "borrow", ...running)).out).toBe("it has 19: [redacted]\n");
    await cli.run("secrets", "remove", "mail", "password", ...running);
    expect((await cli.run("call", "borrow", ...running)).code).toBe(1);
    started.child.kill("SIGTERM");
    expect((await started.end).code).toBe(0);
  });

  it("a wrong key stops the start with one sentence, and the file stays", async () => {
    const broken = configure("broken", "");
    await cli.given(value, "secrets", "set", "mail", "password", ...broken);
    const file = join(cli.folder, "broken/secrets.age");
    const before = readFileSync(file);
    writeFileSync(file, before.subarray(0, -4));
    const refused = await cli.run("start", ...broken);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("cannot be opened") });
    expect(refused.err.trim().split("\n")).toHaveLength(1);
    expect(readFileSync(file).length).toBe(before.length - 4);
  });

  it("the first place that has it gives it: sealed, then the environment, then a command", async () => {
    const both = configure(
      "chain",
      `secrets:\n  backend: [sealed, command]\n  command: [${process.execPath}, -p, "'from-command-' + process.argv[1]", "{key}"]\n`,
    );
    expect((await cli.run("call", "borrow", ...both)).out).toBe("it has 21: [redacted]\n"); // from-command-password
    await cli.given(value, "secrets", "set", "mail", "password", ...both);
    expect((await cli.run("call", "borrow", ...both)).out).toBe("it has 23: [redacted]\n");
  });
});
