import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ConfigFolder, problemsOf } from "../../../../test/fakes/config-folder.ts";
import { toolsIn } from "../tools/toolsets/toolset.ts";
import { loadConfig } from "./load.ts";

const configs = new ConfigFolder();
afterAll(() => configs[Symbol.dispose]());

it("reads JSON with the same places and the same strictness", async () => {
  const settings = await configs.load('{\n\t"listen": { "port": 1234 },\n\t"autonomy": "A1"\n}', {
    ending: "json",
  });
  expect(settings).toMatchObject({ listen: { port: 1234 }, autonomy: "A1" });
  expect(await problemsOf(configs.load('{\n  "listen": { "prot": 1 }\n}', { ending: "json" }))).toEqual([
    "FILE:2:15 listen.prot: `prot` is not a known key. Fix: Did you mean `port`?",
  ]);
  expect((await problemsOf(configs.load('{ "a": 1, // no\n "b": 2 }', { ending: "json" }))).length).toBeGreaterThan(0);
});

it("fills in defaults, and keeps data beside the configuration", async () => {
  const settings = await configs.load("{}");
  expect(settings).toMatchObject({
    listen: { host: "127.0.0.1", port: 7420 },
    dataFolder: join(configs.path, ".postern"),
    autonomy: "A2",
    approvals: { patience: "suspend" },
    servers: {},
    logLevel: "warn",
  });
});

it("maps every section to its TypeScript names", async () => {
  const settings = await configs.load(`
data: books
limits: { max_tool_calls: 5, call_timeout_ms: 1000 }
approvals: { ttl_seconds: 60, separate_user: true, patience: wait }
policy:
  rules:
    - { effect: deny, tool: "x*" }
servers:
  a_b:
    command: node
    defer: true
    call_timeout_ms: 5
    env: { some_key: secret://a/b }
    tools:
      my_tool: { timeout_ms: 7, risk: safe, defer: false }
  far: { url: "https://example.com/mcp" }
tools: { modules: [./t.ts] }
results: { retention_days: 7, folder: shared }
`);
  expect(settings.limits).toEqual({ maxToolCalls: 5, callTimeoutMs: 1000 });
  expect(settings.approvals).toEqual({ ttlMs: 60_000, separateUser: true, patience: "wait" });
  expect(settings.results).toEqual({ retentionDays: 7, folder: join(configs.path, "shared") });
  expect(settings.policy.rules?.[0]).toMatchObject({
    effect: "deny",
    tool: "x*",
    where: expect.stringMatching(/config-\d+\.yaml:7$/),
  });
  expect(settings.servers).toEqual({
    a_b: {
      command: "node",
      cwd: configs.path,
      callTimeoutMs: 5,
      env: { some_key: "secret://a/b" },
      defer: true,
      tools: {
        my_tool: { timeoutMs: 7, defer: false, where: expect.stringMatching(/^config-\d+\.yaml:15$/), risk: "safe" },
      },
    },
    far: { url: "https://example.com/mcp" },
  });
  expect(settings.toolModules).toEqual([join(configs.path, "t.ts")]);
  expect(settings.dataFolder).toBe(join(configs.path, "books"));
});

it("puts the environment over the file, and flags over the environment", async () => {
  const environment = {
    POSTERN_PORT: "2000",
    POSTERN_AUTONOMY: "a0",
    POSTERN_DATA: "",
    POSTERN_LOG_LEVEL: "debug",
  };
  const settings = await configs.load("listen: { port: 1000 }\nautonomy: A4\n", {
    environment,
    flags: { port: "3000", data: "elsewhere" },
  });
  expect(settings).toMatchObject({
    listen: { port: 3000 },
    autonomy: "A0",
    logLevel: "debug",
    dataFolder: join(configs.path, "elsewhere"),
  });
});

it("names the variable or the flag that is wrong", async () => {
  const lines = await problemsOf(
    configs.load("{}", {
      environment: { POSTERN_HOST: "0.0.0.0:80" },
      flags: { port: "x", autonomy: "A7" },
    }),
  );
  expect(lines).toEqual([
    "command line --port: `x` is not a port. Fix: Write a whole number from 0 to 65535; 0 takes a free one.",
    "environment POSTERN_HOST: `0.0.0.0:80` is no address to listen on. Fix: Write an address of this machine without a port: `127.0.0.1` (only this machine), `0.0.0.0` or `::` (every address), or one of its names.",
    "command line --autonomy: `A7` is not one of A0, A1, A2, A3, A4. Fix: Write one of them.",
  ]);
});

describe("a configuration in code", () => {
  const define = join(import.meta.dirname, "index.ts");
  const defineTool = join(import.meta.dirname, "../tools/define.ts");

  it("says the same in camelCase, with tools and hooks as they are", async () => {
    const text = `
import { defineConfig } from ${JSON.stringify(define)};
import { defineTool } from ${JSON.stringify(defineTool)};
const ping = defineTool({ name: "ping", description: "Pings.", risk: "safe", idempotent: true, inputSchema: { type: "object" }, execute: () => "pong" });
export default defineConfig({ tools: [ping], hooks: { toolStart() {} }, limits: { maxToolCalls: 3 }, approvals: { ttlSeconds: 9 }, servers: { a: { command: "x", callTimeoutMs: 4 } } });
`;
    const settings = await configs.load(text, { ending: "ts" });
    expect(toolsIn(settings.tools).map(({ name }) => name)).toEqual(["ping"]);
    expect(settings.hooks?.toolStart).toBeTypeOf("function");
    expect(settings).toMatchObject({
      limits: { maxToolCalls: 3 },
      approvals: { ttlMs: 9_000 },
      servers: { a: { callTimeoutMs: 4 } },
    });
  });

  it("holds guardrails and channels of one's own beside those that a file could name", async () => {
    const text = `
const own = { name: "own", on: "arguments", check: () => [] };
const pager = { name: "pager", kind: "pager", target: "desk", wants: () => true, deliver: async () => ({ delivered: true }) };
export default { guardrails: [{ use: "prompt_injection" }, own], channels: { also: [pager], consoleUrl: () => "https://a.example", webhooks: [{ name: "ops", url: "https://b.example", kind: "slack", allowPrivate: true }] } };
`;
    const { guardrails, channels } = await configs.load(text, { ending: "ts" });
    expect(guardrails.map(({ name }) => name)).toEqual(["prompt-injection", "own"]);
    expect(channels).toMatchObject({ also: [{ name: "pager" }], webhooks: [{ name: "ops", allowPrivate: true }] });
    expect(channels?.consoleUrl).toBeTypeOf("function");
    const wrong = (rest: string) => problemsOf(configs.load(`export default { ${rest} };`, { ending: "ts" }));
    expect((await wrong("guardrails: [{ name: '', on: 'arguments', check() {} }]"))[0]).toContain("FILE guardrails: ");
    expect((await wrong("guardrails: 7"))[0]).toContain("FILE guardrails: ");
    expect((await wrong("channels: { also: 7 }"))[0]).toContain("FILE channels.also: ");
    expect((await wrong("channels: { consoleUrl: 7 }"))[0]).toContain("FILE channels.consoleUrl: ");
  });

  it("looks after the log as it says", async () => {
    const said = async (text: string) => (await configs.load(text)).audit.recheck;
    expect(await said("audit: { recheck: { enabled: false, entries_per_second: 50 } }")).toEqual({
      ...{ enabled: false, entriesPerSecond: 50 },
    });
    expect(await said("{}")).toEqual({});
    expect(await problemsOf(configs.load("audit: { recheck: { entries_per_second: 0 } }"))).toEqual([
      expect.stringContaining("audit.recheck.entries_per_second: `0` is too small"),
    ]);
  });

  it("is checked like a file", async () => {
    expect(await problemsOf(configs.load("export default { limits: { maxToolCals: 3 } };", { ending: "ts" }))).toEqual([
      "FILE limits.maxToolCals: `maxToolCals` is not a known key. Fix: Did you mean `maxToolCalls`?",
    ]);
    expect(
      await problemsOf(
        configs.load("export default { servers: { a_b: { command: 'x', callTimeoutMs: 0 } } };", {
          ending: "ts",
        }),
      ),
    ).toEqual(["FILE servers.a_b.callTimeoutMs: `0` is too small. Fix: Write at least 1."]);
    expect((await problemsOf(configs.load("export default { tools: [{}] };", { ending: "ts" })))[0]).toContain(
      "FILE tools[0]: It is neither a tool nor a toolset.",
    );
    expect((await problemsOf(configs.load("export const nothing = 1;", { ending: "ts" })))[0]).toContain(
      "export default defineConfig",
    );
    expect((await problemsOf(configs.load("throw new Error('boom');", { ending: "ts" })))[0]).toContain("boom");
  });

  it("is never run because it lies there", async () => {
    const here = mkdtempSync(join(tmpdir(), "postern-code-"));
    writeFileSync(join(here, "postern.config.ts"), "globalThis.posternRan = true; export default {};");
    const settings = await loadConfig({ flags: {}, environment: {}, folder: here });
    rmSync(here, { recursive: true });
    expect(settings.file).toBeUndefined();
    expect("posternRan" in globalThis).toBe(false);
  });
});

it("finds the one data file of a folder, and does not choose between two", async () => {
  const here = mkdtempSync(join(tmpdir(), "postern-find-"));
  writeFileSync(join(here, "postern.json"), '{ "autonomy": "A3" }');
  expect(await loadConfig({ flags: {}, environment: {}, folder: here })).toMatchObject({
    autonomy: "A3",
    file: join(here, "postern.json"),
  });
  writeFileSync(join(here, "postern.yaml"), "autonomy: A1");
  expect((await problemsOf(loadConfig({ flags: {}, environment: {}, folder: here })))[0]).toContain(
    "postern.yaml, postern.json",
  );
  rmSync(here, { recursive: true });
});

it("says which named file is not there, or not readable as a configuration", async () => {
  const of = (config: string) => problemsOf(configs.named(config));
  expect((await of("nope.yaml"))[0]).toContain("nope.yaml: There is no such file.");
  expect((await of("."))[0]).toContain("It is not a file.");
  writeFileSync(join(configs.path, "config.ini"), "");
  expect((await of("config.ini"))[0]).toContain("Name it .yaml, .json or .ts.");
  symlinkSync("round.yaml", join(configs.path, "round.yaml")); // what is closed to this user is told in the same way
  expect((await of("round.yaml"))[0]).toContain("round.yaml: It cannot be read: ELOOP");
});
