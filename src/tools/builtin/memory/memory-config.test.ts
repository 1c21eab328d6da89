import { afterAll, expect, it } from "vitest";
import { ConfigFolder } from "../../../../test/fakes/config-folder.ts";

const configs = new ConfigFolder();
afterAll(() => configs[Symbol.dispose]());

it("keeps candidates where no mode is said (case 258)", async () => {
  const { memory } = await configs.load("memory:\n  enabled: true\n");
  expect(memory).toEqual({ provider: "embedded", writeMode: "candidate", scopes: undefined });
});

it("is off until it is switched on", async () => {
  expect((await configs.load("version: 1\n")).memory).toBeUndefined();
  expect((await configs.load("memory:\n  write_mode: external\n")).memory).toBeUndefined();
  expect((await configs.load("memory:\n  enabled: false\n")).memory).toBeUndefined();
});

it("says the same in a file and in code", async () => {
  const server = "servers:\n  notes: { command: node }\n";
  const file = `${server}memory:\n  enabled: true\n  provider: { server: notes }\n  write_mode: external\n  scopes: [agent, team]\n`;
  const code = `export default {
    servers: { notes: { command: "node" } },
    memory: { enabled: true, provider: { server: "notes" }, writeMode: "external", scopes: ["agent", "team"] },
  };`;
  const said = { provider: { server: "notes" }, writeMode: "external", scopes: ["agent", "team"] };
  expect((await configs.load(file)).memory).toEqual(said);
  expect((await configs.load(code, { ending: "mjs" })).memory).toEqual(said);
});
