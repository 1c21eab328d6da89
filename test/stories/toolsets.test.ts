/** Tools in lists, in toolsets and in folders, and batches of calls, through the public API. */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FakeClock, settled } from "../../packages/core/src/testing/clock.ts";
import {
  createRuntime,
  defineTool,
  type LocalTool,
  type RuntimeSession,
  type ToolOutcome,
} from "../../packages/postern/src/index.ts";
import { type AgentProgress, progressWatcher } from "../../packages/postern/src/observe/index.ts";
import { combined, filtered, prefixed, scanCatalogue, Toolbox } from "../../packages/postern/src/tools/index.ts";
import { CommandLine } from "../fakes/command-line.ts";
import { ownFolder } from "../fakes/own-folder.ts";

const named = (name: string, more: Partial<LocalTool> = {}): LocalTool =>
  defineTool({ name, description: name, risk: "safe", idempotent: true, execute: () => `it was ${name}`, ...more });
const texts = (outcomes: readonly ToolOutcome[]): readonly string[] =>
  outcomes.map(({ text, refusal }) => refusal?.code ?? text);

describe("a toolset", () => {
  it("is reachable beside another one with the same name, through every gate under its own name (case 251)", async () => {
    const set = combined(prefixed(new Toolbox([named("read")]), "one"), prefixed(new Toolbox([named("read")]), "two"));
    await using runtime = await createRuntime({
      tools: [named("read"), set],
      policy: { rules: [{ effect: "deny", tool: "two__*" }] },
    });
    expect(runtime.tools.names()).toEqual(["one__read", "read", "two__read"]);
    await using session = runtime.openSession();
    const outcomes = await session.invokeAll(["read", "one__read", "two__read"].map((tool) => ({ tool })));
    expect(texts(outcomes)).toEqual(["it was read", "it was read", "permission_denied"]);
  });

  it("passes later tools through the same wrappers, and leaves no trace of refused ones", async () => {
    const box = new Toolbox();
    const harmless = filtered(prefixed(box, "my"), ({ risk }) => risk === "safe");
    await using runtime = await createRuntime({ tools: [combined(harmless), named("my__taken")] });
    box.add(named("find")).add(named("wipe", { risk: "critical" }));
    expect(runtime.tools.names()).toEqual(["my__find", "my__taken"]);
    expect((await runtime.invoke({ tool: "my__find" })).text).toBe("it was find");
    expect((await runtime.invoke({ tool: "my__wipe" })).refusal?.code).toBe("tool_unknown");
    expect(() => box.add(named("taken"))).toThrow(/`my__taken` is registered already/);
    expect(box.has("taken")).toBe(false);
  });

  it("that a runtime cannot take stops the start completely", async () => {
    const twice = combined(new Toolbox([named("a")]), new Toolbox([named("a")]));
    await expect(createRuntime({ tools: twice })).rejects.toMatchObject({
      code: "options_invalid",
      message: expect.stringContaining("Two combined toolsets offer `a`"),
    });
    await expect(createRuntime({ tools: [prefixed(new Toolbox([named("a")]), "no space")] })).rejects.toMatchObject({
      code: "tool_name_invalid",
      message: expect.stringContaining("cannot be the name of a tool"),
    });
    await expect(createRuntime({ tools: [{ tools: "none" } as never] })).rejects.toMatchObject({
      code: "options_invalid",
      message: expect.stringContaining("does not have the shape of a tool"),
    });
  });

  it("is not assumed of a tool with a member `tools`", async () => {
    class Kit {
      readonly name = "kit";
      readonly description = "A kit.";
      readonly risk = "safe";
      readonly idempotent = true;
      execute(): string {
        return "ran";
      }
      tools(): readonly LocalTool[] {
        return [named("inside")];
      }
    }
    await using runtime = await createRuntime({ tools: [new Kit()] });
    expect(runtime.tools.names()).toEqual(["kit"]);
  });
});

describe("a batch of calls", () => {
  /** Makes tools whose answers the test gives, and records which ones have started. */
  async function openTools(safe: readonly string[], alone: readonly string[]) {
    const began: string[] = [];
    const answers = new Map<string, () => void>();
    const waits = (name: string, concurrencySafe: boolean): LocalTool =>
      named(name, {
        concurrencySafe,
        execute: () => {
          began.push(name);
          return new Promise((resolve) => answers.set(name, () => resolve(name)));
        },
      });
    const runtime = await createRuntime({
      tools: [...safe.map((name) => waits(name, true)), ...alone.map((name) => waits(name, false))],
      clock: new FakeClock(),
    });
    const session = runtime.openSession({ maxToolCalls: 5 });
    const answer = async (...names: readonly string[]): Promise<void> => {
      for (const name of names) answers.get(name)?.();
      await settled();
    };
    const hasBegun = (...names: readonly string[]): Promise<void> =>
      expect.poll(() => [...began].sort()).toEqual([...names].sort());
    return { runtime, session, began, answer, hasBegun };
  }
  const asked = (session: RuntimeSession, ...tools: readonly string[]): Promise<readonly ToolOutcome[]> =>
    session.invokeAll(tools.map((tool) => ({ tool })));

  it("runs concurrency-safe tools together and others one by one, answering in the order of calls (case 265)", async () => {
    const { runtime, session, answer, hasBegun } = await openTools(["s1", "s2", "s3"], ["u1", "u2"]);
    await using _closing = runtime;
    const batch = asked(session, "s1", "s2", "u1", "u2", "s3");
    await hasBegun("s1", "s2");
    await answer("s2", "s1");
    await hasBegun("s1", "s2", "u1");
    await answer("u1");
    await hasBegun("s1", "s2", "u1", "u2");
    await answer("u2");
    await hasBegun("s1", "s2", "s3", "u1", "u2");
    await answer("s3");
    expect(texts(await batch)).toEqual(["s1", "s2", "u1", "u2", "s3"]);
    expect(session.callCount).toBe(5);
  });

  it("passes every call through the gates: unknown, refused and over-budget ones have their outcome in place", async () => {
    await using runtime = await createRuntime({
      tools: [named("ok", { concurrencySafe: true }), named("risky", { risk: "high", concurrencySafe: true })],
    });
    await using session = runtime.openSession({ maxToolCalls: 4 });
    const outcomes = await asked(session, "ok", "nope", "risky", "ok", "ok");
    expect(texts(outcomes)).toEqual([
      "it was ok",
      "tool_unknown",
      "approval_unavailable",
      "it was ok",
      "budget_exhausted",
    ]);
  });

  it("has a key for each request, and none for the session", async () => {
    let runs = 0;
    const execute = (): string => {
      runs += 1;
      return String(runs);
    };
    const count = named("count", { execute });
    await using runtime = await createRuntime({ tools: [count] });
    await using session = runtime.openSession();
    const ofAll = { idempotencyKey: "the session's" };
    expect(() => runtime.openSession({}, ofAll)).toThrow(expect.objectContaining({ code: "context_invalid" }));
    const twice = [
      { tool: "count", idempotencyKey: "one" },
      { tool: "count", idempotencyKey: "one" },
      { tool: "count" },
    ];
    expect(texts(await session.invokeAll(twice))).toEqual(["1", "1", "2"]);
    expect(texts(await session.invokeAll(twice.slice(2), { reason: "once more" }))).toEqual(["3"]);
  });

  it.each([5, null, "ok"])("refuses an invalid request in it as the runtime does: %j", async (given) => {
    const { runtime, session, began } = await openTools(["ok"], []);
    await using _closing = runtime;
    for (const asked of [() => session.invoke(given as never), () => runtime.invoke(given as never)]) {
      const answer = asked();
      await expect(answer).rejects.toMatchObject({ code: "request_invalid" });
    }
    expect(began).toEqual([]);
  });

  it.each([[5], [null], [[null]], [[{ tool: "ok" }, "ok"]]])(
    "is refused before anything ran if it is invalid: %j",
    async (given) => {
      const { runtime, session, began } = await openTools(["ok"], []);
      await using _closing = runtime;
      await expect(session.invokeAll(given as never)).rejects.toMatchObject({ code: "request_invalid" });
      expect(began).toEqual([]);
    },
  );

  it("ends with the caller's cancellation once running calls have ended; later calls do not start", async () => {
    const { runtime, session, began, hasBegun } = await openTools(["s1", "s2"], ["u1"]);
    await using _closing = runtime;
    const caller = new AbortController();
    const batch = session.invokeAll([{ tool: "s1" }, { tool: "s2" }, { tool: "u1" }], { signal: caller.signal });
    await hasBegun("s1", "s2");
    await settled(); // a body that has something to wait for is listened to from now on
    caller.abort(new Error("enough"));
    await expect(batch).rejects.toThrow("enough");
    expect(began).not.toContain("u1");
    expect(session.trace).toHaveLength(2);
  });
});

it("shows a run's display only attempted calls, and its failure affects no call (case 196)", async () => {
  const problems: string[] = [];
  await using runtime = await createRuntime({
    tools: [named("ping"), named("risky", { risk: "high" })],
    log: (problem) => problems.push(problem),
  });
  const progress: AgentProgress[] = [];
  using _telling = runtime.watch(progressWatcher((step) => void progress.push(step)));
  using _failing = runtime.watch(
    progressWatcher(() => {
      throw new Error("no screen");
    }),
  );
  const context = { principal: { tenant: "t", agent: "ada" }, runId: "run_1" };
  expect((await runtime.invoke({ tool: "ping" }, context)).status).toBe("ok");
  expect((await runtime.invoke({ tool: "risky" }, context)).status).toBe("denied");
  expect(progress).toEqual([
    { agentId: "ada", runId: "run_1", seq: 1, step: "TOOL_CALL", content: "ping" },
    { agentId: "ada", runId: "run_1", seq: 1, step: "TOOL_RESULT", content: "it was ping" },
  ]);
  expect(problems).toEqual([expect.stringContaining("no screen"), expect.stringContaining("no screen")]);
});

describe("tools in folders", () => {
  const source = (name: string, answer: string): string =>
    `export default class { name = "${name}"; description = "d"; risk = "safe"; idempotent = true; execute() { return "${answer}"; } };`;
  function catalogue(folder: string, files: Readonly<Record<string, string>>): string {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, "tool.ts"), text);
    }
    return folder;
  }

  it("are found without registration, in the order of their names, the first of two (cases 36, 38 and 39)", async () => {
    const one = catalogue(ownFolder(), { zebra: source("zebra", "striped"), ant: source("ant", "small") });
    const two = catalogue(ownFolder(), { ant: source("ant", "another") });
    const found = await scanCatalogue([one, two]);
    await using runtime = await createRuntime({ tools: found.map(({ tool }) => tool) });
    expect(found.map(({ name, component }) => [name, component])).toEqual([
      ["ant", "tool"],
      ["zebra", "tool"],
    ]);
    expect((await runtime.invoke({ tool: "ant" })).text).toBe("small");
  });

  const cli = new CommandLine();
  afterAll(() => cli[Symbol.dispose]());
  const data = join(cli.folder, "found");
  const configured = (folders: string): string => {
    const file = join(cli.folder, "folders.yaml");
    writeFileSync(file, `tools:\n  modules: [./tools.ts]\n  folders: ${folders}\nlisten:\n  port: 0\n`);
    return file;
  };

  it("are offered from a configured folder; private and broken ones are skipped (case 37)", async () => {
    const folder = catalogue(join(cli.folder, "kit"), {
      my_mock_tool: source("mock", "found without registration"),
      _private: source("hidden", "no"),
      broken: "throw new Error('out of order');",
    });
    cli.dataFolder("found");
    const to = ["--config", configured("[./kit]"), "--data", data];
    expect(await cli.run("call", "mock", ...to)).toMatchObject({
      code: 0,
      out: "found without registration\n",
      err: expect.stringContaining(join(folder, "broken/tool.ts")),
    });
    const listed = await cli.run("tools", ...to);
    expect(listed.out).toMatch(/^mock +safe +runs/m);
    expect(listed.out).toMatch(/^echo +safe/m);
    expect(listed.out).not.toContain("hidden");
  });

  it("are refused from a path that is no folder, with its place and the fix", async () => {
    cli.dataFolder("found");
    const file = configured("[./kit, ./nowhere]");
    expect(await cli.run("tools", "--config", file, "--data", data)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/tools\.folders\[1\]: `.*nowhere` is no folder\. Fix: Name one/),
    });
  });

  it("cannot lie where agents may write, because a file there would run at the next start", async () => {
    cli.dataFolder("found");
    catalogue(join(cli.folder, "project/kit"), { mock: source("mock", "x") });
    const file = configured("[./project/kit]");
    appendFileSync(
      file,
      "files:\n  enabled: true\n  write: true\n  roots:\n    work: { path: ./project, writable: true }\n",
    );
    expect(await cli.run("tools", "--config", file, "--data", data)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is writable and holds `.*project\/kit`, which Postern itself reads/),
    });
  });

  it("are offered as they are if a configuration in code names a set or a module exports one", async () => {
    cli.dataFolder("found");
    const entry = (path: string): string =>
      JSON.stringify(join(import.meta.dirname, "../../packages/postern/src", path));
    const set = (prefix: string): string =>
      `prefixed(new Toolbox([defineTool({ name: "read", description: "d", risk: "safe", idempotent: true, execute: () => "${prefix}" })]), "${prefix}")`;
    const head = `import { defineTool } from ${entry("index.ts")};
import { defineConfig } from ${entry("config/index.ts")};
import { prefixed, Toolbox } from ${entry("tools/index.ts")};\n`;
    const code = join(cli.folder, "sets.config.ts");
    writeFileSync(code, `${head}export default defineConfig({ listen: { port: 0 }, tools: [${set("coded")}] });\n`);
    expect((await cli.run("call", "coded__read", "--config", code, "--data", data)).out).toBe("coded\n");
    writeFileSync(join(cli.folder, "set.ts"), `${head}export const set = ${set("module")};\n`);
    const file = join(cli.folder, "set.yaml");
    writeFileSync(file, "tools:\n  modules: [./set.ts]\nlisten:\n  port: 0\n");
    expect((await cli.run("call", "module__read", "--config", file, "--data", data)).out).toBe("module\n");
  });
});
