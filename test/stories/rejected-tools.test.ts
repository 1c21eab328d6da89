/** Invalid tools in `tools.folders`: the others are offered, and each invalid one is named in every list. */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, it } from "vitest";
import { createClient } from "../../packages/postern/src/server/client/client.ts";
import { readToken } from "../../packages/postern/src/server/credentials.ts";
import { CommandLine } from "../fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());

const execute = "execute: () => 'ran'";
const good = `export default { name: "good", description: "d", risk: "safe", idempotent: true, ${execute} };`;
const broken: Readonly<Record<string, readonly [text: string, why: RegExp]>> = {
  unrated: [`export default { name: "unrated", description: "d", ${execute} };`, /risk/],
  zz: [`export default { name: "g00d", description: "d", risk: "safe", idempotent: true, ${execute} };`, /looks like/],
  schema: [
    `export default { name: "schema", description: "d", risk: "safe", idempotent: true, input: { type: "object", properties: { a: { type: "objekt", pattern: "a" } } }, ${execute} };`,
    /not a valid 2020-12 schema/,
  ],
  throws: ["throw new Error('boom');", /boom/],
};

function folderOf(name: string): string {
  const folder = join(cli.folder, name);
  const files = { good, ...Object.fromEntries(Object.entries(broken).map(([tool, [text]]) => [tool, text])) };
  for (const [tool, text] of Object.entries(files)) {
    const path = join(folder, `tools/${tool}/tool.mjs`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  mkdirSync(join(folder, ".postern"), { mode: 0o700 });
  writeFileSync(join(folder, "postern.yaml"), "listen: { port: 0 }\ntools: { folders: [tools] }\n");
  return folder;
}

it("lists them in `postern tools` and offers the others", async () => {
  const folder = folderOf("listed");
  const { code, out, err } = await cli.runIn(folder, "tools");
  expect(code).toBe(0);
  expect(out).toMatch(/good +safe/);
  for (const [tool, [, why]] of Object.entries(broken)) {
    expect(err).toMatch(new RegExp(`${tool}/tool\\.mjs is skipped: .*${why.source}`));
    expect(out).toMatch(new RegExp(`Not offered[^]*${tool === "zz" ? "g00d" : tool}: .*${why.source}`));
  }
  expect(await cli.runIn(folder, "call", "good")).toMatchObject({ code: 0, out: "ran\n" });
});

it("names them in doctor", async () => {
  const { code, out } = await cli.runIn(folderOf("examined"), "doctor", "--json");
  expect(code).toBe(0);
  const { findings }: { findings: readonly { level: string; message: string }[] } = JSON.parse(out);
  for (const [, why] of Object.values(broken))
    expect(findings.filter(({ level, message }) => level === "warn" && why.test(message))).toHaveLength(1);
});

it("starts all the same, and names them in health and in doctor", { timeout: 60_000 }, async () => {
  const folder = folderOf("started");
  const { child, end } = cli.open(["start", "--json"], folder);
  if (child.stdout === null) throw new Error("It has no output.");
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const { url }: { url: string } = JSON.parse(String(line));
  const client = createClient({ url, token: (await readToken(join(folder, ".postern"), "operator")) ?? "" });
  const { rejected } = await client.health.show();
  expect(rejected.map(({ tool }) => tool).sort()).toEqual(["g00d", "schema", "throws", "unrated"]);
  const { out } = await cli.runIn(folder, "doctor");
  for (const [, why] of Object.values(broken)) expect(out).toMatch(why);
  child.kill("SIGTERM");
  await end;
});
