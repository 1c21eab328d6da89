import { afterAll, describe, expect, it } from "vitest";
import { ConfigFolder, problemsOf } from "../../../../../test/fakes/config-folder.ts";

const configs = new ConfigFolder();
afterAll(() => configs[Symbol.dispose]());

it("writes candidates by default", async () => {
  const { memory } = await configs.load("memory:\n  enabled: true\n");
  expect(memory).toEqual({ provider: "embedded", writeMode: "candidate", scopes: undefined });
});

it("is off by default", async () => {
  expect((await configs.load("version: 1\n")).memory).toBeUndefined();
  expect((await configs.load("memory:\n  write_mode: external\n")).memory).toBeUndefined();
  expect((await configs.load("memory:\n  enabled: false\n")).memory).toBeUndefined();
});

it("is the same in a file and in code", async () => {
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

describe("provider: external", () => {
  const servers = { memory: { command: "memory-server" } };

  it.each([undefined, "disabled", "candidate", "external"] as const)(
    "means the server `memory`, mode %s",
    async (mode) => {
      const memory = { enabled: true, provider: "external", ...(mode !== undefined && { write_mode: mode }) };
      const settings = await configs.load(JSON.stringify({ memory, servers }), { ending: "json" });
      expect(settings.memory).toMatchObject({ provider: { server: "memory" }, writeMode: mode ?? "candidate" });
    },
  );

  it("works without a server: candidates are written, and nothing is recalled", async () => {
    const { memory } = await configs.load("memory: { enabled: true, provider: external, write_mode: candidate }");
    expect(memory).toMatchObject({ provider: undefined, writeMode: "candidate" });
  });

  it("cannot write to a server that is not configured", async () => {
    const loading = configs.load("memory: { enabled: true, provider: external, write_mode: external }");
    expect(await problemsOf(loading)).toEqual([
      expect.stringMatching(
        /memory\.provider.*`external` writes to the MCP server `memory`, which is not one of `servers`/,
      ),
    ]);
  });
});
