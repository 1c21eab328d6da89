import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadConfig } from "./load.ts";
import type { Environment, Flags } from "./overrides.ts";
import { ConfigProblems, problemLine } from "./problem.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;

function write(text: string, ending = "yaml"): string {
  files += 1;
  const name = `config-${files}.${ending}`;
  writeFileSync(join(folder, name), text);
  return name;
}

function load(
  text: string,
  more: { ending?: string; flags?: Flags; environment?: Environment } = {},
) {
  const config = write(text, more.ending);
  return loadConfig({
    flags: { ...more.flags, config },
    environment: more.environment ?? {},
    folder,
  });
}

async function problemsOf(loading: Promise<unknown>): Promise<readonly string[]> {
  const error = await loading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigProblems))
    throw new Error(`expected ConfigProblems, got ${String(error)}`);
  return error.problems.map((problem) => problemLine(problem).replace(/^config-\d+\.\w+/, "FILE"));
}

/** What is written, and what is said about it: file, line, column, key, value, fix. */
const mistakes: readonly (readonly [what: string, yaml: string, said: string])[] = [
  [
    "an unknown key",
    "version: 1\nlistn:\n  port: 1\n",
    "FILE:2:1 listn: `listn` is not a known key. Fix: Did you mean `listen`?",
  ],
  [
    "an unknown key inside",
    "listen:\n  prot: 1\n",
    "FILE:2:3 listen.prot: `prot` is not a known key. Fix: Did you mean `port`?",
  ],
  [
    "a key nobody can guess",
    "log:\n  zzz: 1\n",
    "FILE:2:3 log.zzz: `zzz` is not a known key. Fix: Known here: level.",
  ],
  [
    "text for a number",
    'listen:\n  port: "7420"\n',
    'FILE:2:9 listen.port: `"7420"` is not a number. Fix: Write a number.',
  ],
  [
    "a port that is none",
    "listen:\n  port: 70000\n",
    "FILE:2:9 listen.port: `70000` is too big. Fix: Write at most 65535.",
  ],
  [
    "half a millisecond",
    "limits:\n  call_timeout_ms: 0.5\n",
    "FILE:2:20 limits.call_timeout_ms: `0.5` is not a whole number. Fix: Write a whole number.",
  ],
  [
    "an address of the world",
    "listen:\n  host: 0.0.0.0\n",
    'FILE:2:9 listen.host: `"0.0.0.0"` is not one of `127.0.0.1`, `localhost`, `::1`. Fix: Write one of them.',
  ],
  [
    "a level that is none",
    "autonomy: a2\n",
    'FILE:1:11 autonomy: `"a2"` is not one of `A0`, `A1`, `A2`, `A3`, `A4`. Fix: Did you mean `A2`?',
  ],
  [
    "an effect that is none, deep inside",
    "policy:\n  rules:\n    - effect: deny\n      tool: a\n    - tool: b\n      effect: alow\n",
    'FILE:6:15 policy.rules[1].effect: `"alow"` is not one of `allow`, `confirm`, `deny`. Fix: Did you mean `allow`?',
  ],
  [
    "a rule without effect",
    "policy:\n  rules:\n    - tool: b\n",
    "FILE:3:7 policy.rules[0].effect: It is missing. Fix: Add it: one of `allow`, `confirm`, `deny`.",
  ],
  [
    "a list for a mapping",
    "servers:\n  - command: node\n",
    "FILE:2:3 servers: A list is not a mapping (`name: …` lines). Fix: Write a mapping (`name: …` lines).",
  ],
  [
    "a number for text",
    "data: 12\n",
    "FILE:1:7 data: `12` is not text. Fix: Write text, in quotes.",
  ],
  [
    "a server's unknown key",
    "servers:\n  files:\n    comand: node\n",
    "FILE:3:5 servers.files.comand: `comand` is not a known key. Fix: Did you mean `command`?",
  ],
  [
    "a server's name that cannot be part of a tool's",
    "servers:\n  my files:\n    command: node\n",
    'FILE:2:3 servers."my files": `my files` cannot be a name here. Fix: Use 1 to 32 letters, digits, - and single _ inside: it is part of its tools\' names.',
  ],
  [
    "a risk of a server's tool",
    "servers:\n  f:\n    command: x\n    tools:\n      t: { risk: hihg }\n",
    "Did you mean `high`?",
  ],
  [
    "a key that is given twice",
    "autonomy: A1\nlog: {}\nautonomy: A4\n",
    "FILE:3:1: Map keys must be unique. Fix: Keep one of the two; which one should win is not guessed.",
  ],
  [
    "a tab",
    "listen:\n\tport: 1\n",
    "FILE:2:1: Tabs are not allowed as indentation. Fix: Indent with spaces.",
  ],
  [
    "a tag",
    "data: !!js/function x\n",
    "Fix: Write plain values, text in quotes; tags (`!…`) are not read.",
  ],
  [
    "two documents",
    "version: 1\n---\nversion: 1\n",
    "Fix: Keep one document; remove the `---` between them.",
  ],
  [
    "the name that is no data",
    "log:\n  __proto__:\n    level: info\n",
    "FILE:2:3: `__proto__` cannot be a key.",
  ],
  ["a list as key", "? [a, b]\n: 1\n", "FILE:1:3: A list or a mapping cannot be a key."],
  ["an unclosed quote", 'data: "abc\n', "FILE:"],
  [
    "a threshold that lets critical calls pass",
    "policy:\n  max_risk_unapproved: critical\n",
    "FILE:1:1 policy:",
  ],
];

describe("a mistake in a configuration names file, line, key and the fix", () => {
  it.each(mistakes)("%s", async (_, yaml, said) => {
    const lines = await problemsOf(load(yaml));
    expect(lines.join("\n")).toContain(said);
    for (const line of lines) expect(line).toMatch(/^FILE:\d+:\d+.*: .* Fix: .+/);
  });
});

it("tells all mistakes at once", async () => {
  expect(await problemsOf(load("autonomy: A9\nlisten:\n  port: x\nfoo: 1\n"))).toHaveLength(3);
});

it("refuses aliases that grow without bound, quickly", async () => {
  const levels = Array.from(
    { length: 9 },
    (_, i) => `  l${i + 1}: &l${i + 1} [${Array.from({ length: 10 }, () => `*l${i}`).join()}]`,
  );
  const began = performance.now();
  const lines = await problemsOf(load(`servers:\n  l0: &l0 [x]\n${levels.join("\n")}\n`));
  expect(lines[0]).toContain("alias");
  expect(performance.now() - began).toBeLessThan(1_000);
});

it("refuses what is not UTF-8 text, or far too long", async () => {
  writeFileSync(join(folder, "latin.yaml"), Buffer.from([0x64, 0x3a, 0x20, 0xe4]));
  expect(
    (await problemsOf(loadConfig({ flags: { config: "latin.yaml" }, environment: {}, folder })))[0],
  ).toContain("UTF-8");
  expect((await problemsOf(load(`# ${"x".repeat(1024 * 1024)}`)))[0]).toContain("at most");
  expect((await problemsOf(load("data: a\0b")))[0]).toContain("NUL");
});

it("reads JSON with the same places and the same strictness", async () => {
  const settings = await load('{\n\t"listen": { "port": 1234 },\n\t"autonomy": "A1"\n}', {
    ending: "json",
  });
  expect(settings).toMatchObject({ listen: { port: 1234 }, autonomy: "A1" });
  expect(await problemsOf(load('{\n  "listen": { "prot": 1 }\n}', { ending: "json" }))).toEqual([
    "FILE:2:15 listen.prot: `prot` is not a known key. Fix: Did you mean `port`?",
  ]);
  expect(
    (await problemsOf(load('{ "a": 1, // no\n "b": 2 }', { ending: "json" }))).length,
  ).toBeGreaterThan(0);
});

it("fills in defaults, and keeps data beside the configuration", async () => {
  const settings = await load("{}");
  expect(settings).toMatchObject({
    listen: { host: "127.0.0.1", port: 7420 },
    dataFolder: join(folder, ".postern"),
    autonomy: "A2",
    approvals: { patience: "suspend" },
    servers: {},
    logLevel: "warn",
  });
});

it("maps every section to its TypeScript spelling", async () => {
  const settings = await load(`
data: books
limits: { max_tool_calls: 5, call_timeout_ms: 1000 }
approvals: { ttl_seconds: 60, separate_user: true, patience: wait }
policy:
  rules:
    - { effect: deny, tool: "x*" }
servers:
  a_b:
    command: node
    call_timeout_ms: 5
    env: { some_key: secret://a/b }
    tools:
      my_tool: { timeout_ms: 7, risk: low }
  far: { url: "https://example.com/mcp" }
tools: { modules: [./t.ts] }
`);
  expect(settings.limits).toEqual({ maxToolCalls: 5, callTimeoutMs: 1000 });
  expect(settings.approvals).toEqual({ ttlMs: 60_000, separateUser: true, patience: "wait" });
  expect(settings.policy.rules?.[0]).toMatchObject({
    effect: "deny",
    tool: "x*",
    where: expect.stringMatching(/config-\d+\.yaml:7$/),
  });
  expect(settings.servers).toEqual({
    a_b: {
      command: "node",
      cwd: folder,
      callTimeoutMs: 5,
      env: { some_key: "secret://a/b" },
      tools: { my_tool: { timeoutMs: 7, risk: "safe" } },
    },
    far: { url: "https://example.com/mcp" },
  });
  expect(settings.toolModules).toEqual([join(folder, "t.ts")]);
  expect(settings.dataFolder).toBe(join(folder, "books"));
});

it("puts the environment over the file, and flags over the environment", async () => {
  const environment = {
    POSTERN_PORT: "2000",
    POSTERN_AUTONOMY: "a0",
    POSTERN_DATA: "",
    POSTERN_LOG_LEVEL: "debug",
  };
  const settings = await load("listen: { port: 1000 }\nautonomy: A4\n", {
    environment,
    flags: { port: "3000", data: "elsewhere" },
  });
  expect(settings).toMatchObject({
    listen: { port: 3000 },
    autonomy: "A0",
    logLevel: "debug",
    dataFolder: join(folder, "elsewhere"),
  });
});

it("names the variable or the flag that is wrong", async () => {
  const lines = await problemsOf(
    load("{}", { environment: { POSTERN_HOST: "0.0.0.0" }, flags: { port: "x", autonomy: "A7" } }),
  );
  expect(lines).toEqual([
    "command line --port: `x` is not a port. Fix: Write a whole number from 0 to 65535; 0 takes a free one.",
    "environment POSTERN_HOST: `0.0.0.0` is not one of 127.0.0.1, localhost, ::1. Fix: Write one of them.",
    "command line --autonomy: `A7` is not one of A0, A1, A2, A3, A4. Fix: Did you mean `A0`?",
  ]);
});

describe("a configuration in code", () => {
  const define = join(import.meta.dirname, "define-config.ts");
  const defineTool = join(import.meta.dirname, "../tools/define.ts");

  it("says the same in camelCase, with tools and hooks as they are", async () => {
    const text = `
import { defineConfig } from ${JSON.stringify(define)};
import { defineTool } from ${JSON.stringify(defineTool)};
const ping = defineTool({ name: "ping", description: "Pings.", risk: "safe", idempotent: true, inputSchema: { type: "object" }, execute: () => "pong" });
export default defineConfig({ tools: [ping], hooks: { toolStart() {} }, limits: { maxToolCalls: 3 }, approvals: { ttlSeconds: 9 }, servers: { a: { command: "x", callTimeoutMs: 4 } } });
`;
    const settings = await load(text, { ending: "ts" });
    expect(settings.tools.map(({ name }) => name)).toEqual(["ping"]);
    expect(settings.hooks?.toolStart).toBeTypeOf("function");
    expect(settings).toMatchObject({
      limits: { maxToolCalls: 3 },
      approvals: { ttlMs: 9_000 },
      servers: { a: { callTimeoutMs: 4 } },
    });
  });

  it("is checked like a file", async () => {
    expect(
      await problemsOf(load("export default { limits: { maxToolCals: 3 } };", { ending: "ts" })),
    ).toEqual([
      "FILE limits.maxToolCals: `maxToolCals` is not a known key. Fix: Did you mean `maxToolCalls`?",
    ]);
    expect(
      await problemsOf(
        load("export default { servers: { a_b: { command: 'x', callTimeoutMs: 0 } } };", {
          ending: "ts",
        }),
      ),
    ).toEqual(["FILE servers.a_b.callTimeoutMs: `0` is too small. Fix: Write at least 1."]);
    expect(
      (await problemsOf(load("export default { tools: [{}] };", { ending: "ts" })))[0],
    ).toContain("FILE tools[0]: It is not a tool.");
    expect((await problemsOf(load("export const nothing = 1;", { ending: "ts" })))[0]).toContain(
      "export default defineConfig",
    );
    expect((await problemsOf(load("throw new Error('boom');", { ending: "ts" })))[0]).toContain(
      "boom",
    );
  });

  it("is never run because it lies there", async () => {
    const here = mkdtempSync(join(tmpdir(), "postern-code-"));
    writeFileSync(
      join(here, "postern.config.ts"),
      "globalThis.posternRan = true; export default {};",
    );
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
  const of = (config: string) =>
    problemsOf(loadConfig({ flags: { config }, environment: {}, folder }));
  expect((await of("nope.yaml"))[0]).toContain("nope.yaml: There is no such file.");
  expect((await of("."))[0]).toContain("It is not a file.");
  writeFileSync(join(folder, "config.ini"), "");
  expect((await of("config.ini"))[0]).toContain("Name it .yaml, .json or .ts.");
});
