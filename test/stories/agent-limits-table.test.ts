/** Walks docs/reference/limits.md: no route or tool that stores something is missing, and each row says what is true. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { applyPatchTool, memoryTool, textEditorTool } from "../../packages/agents/src/provided/provider-tools.ts";
import { agentPermissions, isPermission } from "../../packages/core/src/roles.ts";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { fileTools, memoryTools, openSkills } from "../../packages/postern/src/builtin/index.ts";
import { skillTools } from "../../packages/postern/src/builtin/skills/skill-tools.ts";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { openRunFolders } from "../../packages/postern/src/observe/index.ts";
import { routes } from "../../packages/postern/src/server/http/http-server.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { type Ask, bodyOf, httpFixture } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { runtimeFixture } from "../fakes/runtime-fixture.ts";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "docs/reference/limits.md"), "utf8");
const rows = text
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| what"))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, what = "", by = "", size = "", number = "", end = ""]) => ({ what, by, size, number, end }));

/** The first number in a text of the table: `1,000,000`. */
const numberIn = (cell: string): number => Number(/\d[\d,]*/.exec(cell)?.[0].replaceAll(",", ""));
type Row = (typeof rows)[number];

const principal = { tenant: "default", agent: "local-agent", via: "token:agent" };
const dayMs = 86_400_000;

async function gate(options: RuntimeOptions = {}) {
  const { runtime, clock } = await runtimeFixture(options);
  const http = await httpFixture(runtime, { clock });
  const ask = (path: string, more: Ask = {}): Promise<Response> => http.ask(path, { as: "agent", ...more });
  return {
    ...{ runtime, clock, ask },
    call: (tool: string, to: string, more: object = {}) =>
      ask("/v1/calls", { body: { tool, arguments: { to }, ...more } }).then(({ status }) => status),
    save: (id: string, state: unknown, version = 0) =>
      ask(`/v1/agent-runs/${id}`, { method: "PUT", body: { state, expected_version: version } }).then(
        ({ status }) => status,
      ),
    async [Symbol.asyncDispose]() {
      await http.server.close();
      await runtime.close();
      await http[Symbol.asyncDispose]();
    },
  };
}

/** Goes to the limit that a row states, and above it, with an agent's token. */
const checks: Readonly<Record<string, (row: Row) => Promise<void>>> = {
  call: async ({ size }) => {
    await using at = await gate();
    const raw = JSON.stringify({ tool: "echo", arguments: { to: "x".repeat(numberIn(size) * 1024 * 1024) } });
    expect((await at.ask("/v1/calls", { raw })).status).toBe(413);
    expect(at.runtime.openSession().limits.maxToolCalls).toBe(numberIn(/max_tool_calls.*/.exec(text)?.[0] ?? ""));
    for (const [name, most] of Object.entries({
      idempotency_key: 256,
      tool_call_id: 256,
      task_id: 200,
      step_id: 200,
    })) {
      expect(await at.call("echo", name, { [name]: "k".repeat(most) })).toBe(200);
      expect(await at.call("echo", name, { [name]: "k".repeat(most + 1) })).toBe(422);
    }
    expect(await at.call("echo", "a", { reason: "r".repeat(2_001) })).toBe(422);
  },
  "refusal above the budget": async () => {
    await using at = await gate({ limits: { maxToolCalls: 1 } });
    for (let i = 0; i < 10; i += 1) await at.call("echo", `${i}`);
    const written = async (): Promise<number> => {
      const refusals = await at.runtime.audit.query({ type: ["tool_call.refused", "budget.refused"] });
      return refusals.length;
    };
    expect(await written()).toBe(1);
    await at.clock.advance(60_000);
    expect(await written()).toBe(2);
  },
  "open request for approval": async ({ number, end }) => {
    await using at = await gate();
    const asked = Array.from({ length: numberIn(number) }, (_, i) =>
      at.runtime.invoke({ tool: "mail", arguments: { to: `${i}` } }, { principal }),
    );
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set(["pending"]));
    expect(await at.call("mail", "one more")).toBe(429);
    expect(end).toContain("an hour");
    await at.clock.advance(3_600_000);
    expect(await at.call("mail", "one more")).toBe(202);
  },
  withdrawal: async ({ size }) => {
    await using at = await gate();
    const held = await at.runtime.invoke({ tool: "mail", arguments: { to: "a" } }, { principal });
    const withdraw = (reason: string): Promise<Response> =>
      at.ask(`/v1/approvals/${held.approvalId}/withdraw`, { body: { reason } });
    expect((await withdraw("r".repeat(numberIn(size) + 1))).status).toBe(422);
    expect((await withdraw("r".repeat(numberIn(size)))).status).toBe(200);
    const before = at.runtime.audit.size;
    expect((await withdraw("again")).status).toBe(409);
    expect(at.runtime.audit.size).toBe(before);
  },
  resume: async () => {
    await using at = await gate({ limits: { maxToolCalls: 2 } });
    const held = await at.runtime.invoke({ tool: "mail", arguments: { to: "a" } }, { principal });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1)
      statuses.push((await at.ask(`/v1/approvals/${held.approvalId}/resume`, { method: "POST" })).status);
    expect(statuses).toEqual([202, 202, 429, 429]);
  },
  "conversation of an agent run": async ({ size, number, end }) => {
    await using at = await gate();
    const stateOf = (bytes: number): string => "x".repeat(bytes - 2);
    expect(await at.save("r", stateOf(numberIn(size) + 1))).toBe(413);
    expect(await at.save("r", stateOf(numberIn(size)))).toBe(200);
    const others = Array.from({ length: numberIn(number) - 1 }, (_, i) => `r${i}`);
    for (const runId of others) expect(await at.runtime.agentRuns.save({ principal, runId }, {}, 0)).toBe(true);
    expect(await at.save("more", {})).toBe(429);
    await at.clock.advance((numberIn(end) + 1) * dayMs);
    expect(await bodyOf(await at.ask("/v1/agent-runs"))).toEqual({ run_ids: [] });
  },
  "run folder": async ({ size }) => {
    await using at = await gate({ store: `sqlite:${join(ownFolder(), "s.db")}`, archive: { folder: ownFolder() } });
    const numbers = [...size.matchAll(/\d[\d,]*/g)].map(([digits]) => numberIn(digits));
    expect(numbers.slice(0, 3)).toEqual([1_000_000, 10_000_000, 1_000]);
    const begin = (body: object): Promise<number> => at.ask("/v1/runs/r/begin", { body }).then(({ status }) => status);
    expect(await begin({ prompt: "x".repeat(1_000_001) })).toBe(422);
    expect(await begin({ deliverables: Array.from({ length: 1_001 }, (_, i) => `d${i}`) })).toBe(422);
    for (let i = 0; i < 10; i += 1) expect(await begin({ transcript: "x".repeat(999_999) })).toBe(200);
    expect(await begin({ transcript: "x" })).toBe(422);
  },
  "owner of a run": async () => {
    await using at = await gate({ limits: { maxToolCalls: 2 } });
    for (let i = 0; i < 5; i += 1) await at.call("echo", "a", { run_id: `r${i}` });
    expect(await at.runtime.audit.query({ type: "run.opened" })).toHaveLength(2);
  },
  question: async () => {
    await using at = await gate();
    const before = at.runtime.audit.size;
    for (let i = 0; i < 5; i += 1)
      expect((await at.ask("/v1/explain", { body: { tool: "mail", run_id: `r${i}` } })).status).toBe(200);
    expect(at.runtime.audit.size).toBe(before);
  },
};

/** Rows whose limits other tests go to. */
const checkedElsewhere: Readonly<Record<string, string>> = {
  result: "test/stories/results-stores.test.ts",
  "waiting script": "test/stories/chains-frozen.test.ts",
  "active skill": "packages/postern/src/builtin/skills/active.test.ts",
  memory: "packages/postern/src/builtin/memory/memory-tools.test.ts",
  file: "test/attacks/files",
  "file of a command": "packages/agents/src/provided/shell.test.ts",
  "protocol session, in memory": "packages/postern/src/mcp/server/sessions.test.ts",
  "budget and trace, in memory": "packages/postern/src/runtime/services/windows.test.ts",
};

describe("the table of what an agent's token can store", () => {
  it("names each route that such a token can write to, and no other", () => {
    const named = rows.flatMap(({ by }) => [...by.matchAll(/`([A-Z]+ \/v1\/[^`]+)`/g)].map(([, route]) => route));
    const written = routes
      .filter(({ method, needs }) => method !== "get" && isPermission(needs) && agentPermissions.has(needs))
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect([...new Set(named)].toSorted()).toEqual(written.toSorted());
  });

  it("names each tool of Postern that writes", async () => {
    const folder = ownFolder();
    const on = { roots: { work: { path: folder, writable: true } }, notRaceSafe: true } as const;
    await using h = await runtimeFixture({ chains: { drivers: [fakeDriver()] } });
    const tools = [
      ...fileTools({ ...on, write: true, delete: true }),
      ...skillTools(await openSkills({ folders: [folder] })),
      ...memoryTools({ runs: openRunFolders(join(folder, "runs")), clock: new FakeClock() }),
      ...[applyPatchTool(on), textEditorTool(on), memoryTool({ folder: join(folder, "memories"), notRaceSafe: true })],
    ].filter(({ effects }) => effects !== "read");
    const offered = h.runtime.offered().filter(({ tool, facts }) => tool === "tool_chain" && facts.effects !== "read");
    const written = ["shell", ...tools.map(({ name }) => name), ...offered.map(({ tool }) => tool)];
    const named = rows.flatMap(({ by }) => [...by.matchAll(/(?<!MCP )`(\w+)`/g)].map(([, tool]) => tool));
    expect(named.toSorted()).toEqual([...new Set(written)].toSorted());
  });

  it.each(rows)("says what is true of: $what", { timeout: 60_000 }, async (row) => {
    const isNothing = row.size === "nothing is stored";
    expect(isNothing || [row.size, row.number, row.end].every((cell) => cell !== "")).toBe(true);
    const elsewhere = checkedElsewhere[row.what];
    if (elsewhere !== undefined) expect(existsSync(join(root, elsewhere))).toBe(true);
    else {
      expect(Object.keys(checks)).toContain(row.what);
      await checks[row.what]?.(row);
    }
  });
});
