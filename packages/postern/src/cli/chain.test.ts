import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

it("scripts that wait are listed new to old, and where there are more than the limit it says so", async () => {
  const data = ["--data", cli.dataFolder("listed")];
  for (const text of ["one", "two", "three"]) {
    writeFileSync(join(cli.folder, `${text}.js`), `await tools.send({ text: "${text}" });`);
    expect(await cli.run("chain", "run", `${text}.js`, ...data)).toMatchObject({ code: 4 });
  }
  const two = await cli.run("chain", "list", "--limit", "2", ...data);
  expect(two.code).toBe(0);
  expect(two.out).toMatch(/"three"[\s\S]*"two"/);
  expect(two.out).not.toContain('"one"');
  expect(two.err).toBe("There are more; `--limit` shows them.\n");
  const all = await cli.run("chain", "list", "--json", ...data);
  expect(all.err).toBe("");
  expect(JSON.parse(all.out)).toMatchObject({
    chains: [{ state: "waiting" }, { state: "waiting" }, { source: 'await tools.send({ text: "one" });' }],
    engines: expect.any(Array),
  });
  expect(JSON.parse(all.out)).not.toHaveProperty("next_before");
});
