/**
 * Real clients and real servers on both sides of a running gateway. What was measured is docs/reference/clients.md; `npm run
 * test:agents -- mcp-clients -u` writes it.
 */
import { existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ApprovalClient, approvalClients } from "../fakes/approval-clients.ts";
import { Gateway } from "../fakes/gateway.ts";
import { type Arguments, type PeerClient, peers } from "./mcp-clients.ts";

const libraries = join(import.meta.dirname, "node_modules");
const memory = join(tmpdir(), `memory-${crypto.randomUUID()}.jsonl`);
const node = (script: string, ...more: readonly string[]) => ({
  ...{ command: process.execPath, args: [join(libraries, script), ...more] },
});
/** Servers that need a program of the machine are tried where it is; CI has both. */
const [chromium, python] = ["/usr/bin/chromium", "/usr/bin/python3"];
const servers = {
  memory: { ...node("@modelcontextprotocol/server-memory/dist/index.js"), env: { MEMORY_FILE_PATH: memory } },
  thinking: node("@modelcontextprotocol/server-sequential-thinking/dist/index.js"),
  ...(existsSync(chromium) && {
    playwright: node(
      "@playwright/mcp/cli.js",
      "--headless",
      "--isolated",
      "--no-sandbox",
      "--executable-path",
      chromium,
    ),
  }),
  everything: { may_ask: ["elicitation", "sampling", "roots"] },
  ...(existsSync(python) && {
    python: { command: python, args: [join(import.meta.dirname, "../fakes/python-server.py")] },
  }),
};
const absent = ["playwright", "python"].filter((name) => !Object.hasOwn(servers, name));

let gateway: Gateway;
beforeAll(async () => {
  const all = Object.entries(servers).map(([name, server]) => [name, { ...server, risk: "safe" }]);
  gateway = await Gateway.started({
    servers: Object.fromEntries(all),
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  rmSync(memory, { force: true });
});

const columns = [
  "list",
  "call",
  "bad arguments",
  "denied",
  "approved",
  "resources",
  "prompts",
  "asked for input",
] as const;
type Column = (typeof columns)[number];
/** How each client of `approvalClients` waited. */
const waited = new Map<string, ApprovalClient["rung"]>();
const ways = { task: "as a task, which it polls", page: "asked to open the page of the request", wait: "in its call" };
const table = new Map<string, Partial<Record<Column, string>>>();

/** The checks of a column. Undefined: the client has nothing of the kind. */
type Check = (client: PeerClient, peer: string) => Promise<string | undefined>;

const checks: Readonly<Record<Column, Check>> = {
  list: async ({ list }) => {
    const names = await list();
    const ofEachServer = ["everything__echo", "filesystem__read_file", "memory__read_graph"];
    expect(names).toEqual(expect.arrayContaining(ofEachServer));
    expect(names).not.toContain("everything__get-env");
    return "yes";
  },
  call: async ({ call }, peer) => {
    expect(await call("everything__echo", { message: peer })).toContain(`Echo: ${peer}`);
    return "yes";
  },
  "bad arguments": async ({ call }) => {
    const answered = await call("everything__get-sum", { a: "two", b: 3 });
    expect(answered).not.toContain("The sum");
    return answered.includes("do not fit") ? "refused by Postern" : "refused by the client";
  },
  denied: async ({ call }) => {
    expect(await call("everything__get-env", {})).not.toContain("PATH");
    return "not listed, not run";
  },
  approved: async ({ call }, peer) => {
    const path = `${peer.replaceAll(/\W+/g, "-")}.txt`;
    const write = { path, content: peer };
    const pending = await call("filesystem__write_file", write);
    const [id = ""] = /apr_[\w-]+/.exec(pending) ?? [];
    expect(existsSync(gateway.file(path))).toBe(false);
    expect((await gateway.command("approvals", "approve", id)).code).toBe(0);
    expect(await call("filesystem__write_file", write)).toContain("Successfully wrote");
    expect(existsSync(gateway.file(path))).toBe(true);
    return "after the same call again";
  },
  resources: async ({ resources, read }) => {
    if (resources === undefined || read === undefined) return undefined;
    const uris = await resources();
    const uri = uris.find((one) => one.endsWith("features.md")) ?? "";
    expect(await read(uri)).toContain("Features");
    return "yes";
  },
  prompts: async ({ prompt }) => {
    if (prompt === undefined) return undefined;
    expect(await prompt("everything__args-prompt", { city: "Paris" })).toContain("Paris");
    return "yes";
  },
  "asked for input": async ({ call, isAsked = false }) => {
    if (!isAsked) return undefined;
    expect(await call("everything__trigger-elicitation-request", {})).toContain("Ada");
    return "yes";
  },
};

describe.each(peers)("$name", ({ name, open }) => {
  let client: PeerClient;
  const row: Partial<Record<Column, string>> = {};
  beforeAll(async () => {
    client = await open(gateway);
    table.set(name, row);
  });
  afterAll(() => client.close());

  it.each(columns)("%s", async (column) => {
    row[column] = (await checks[column](client, name)) ?? "–";
  });
});

describe("a client that waits for a person", () => {
  let patient: Gateway;
  beforeAll(async () => {
    patient = await Gateway.started({ holdMs: 20_000 });
  });
  afterAll(() => patient[Symbol.asyncDispose]());

  it.for(approvalClients)("$name", { concurrent: true }, async ({ name, rung, call }, { expect }) => {
    const path = `${name.replaceAll(/\W+/g, "-")}.txt`;
    const called = call(await patient.place(), "filesystem__write_file", { path, content: name });
    const operator = await patient.operator();
    const waiting = async () =>
      (await operator.approvals.list()).approvals.find((one) => JSON.stringify(one).includes(path));
    await expect.poll(waiting, { timeout: 20_000 }).toBeDefined();
    expect(existsSync(patient.file(path))).toBe(false);
    await operator.approvals.approve({ id: (await waiting())?.approval_id ?? "" });
    expect(await called).toMatchObject({ isError: false, text: expect.stringContaining("Successfully wrote") });
    waited.set(name, rung);
  });
});

it("is what docs/reference/clients.md says", async () => {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rows = [...table].map(([name, row]) => line([name, ...columns.map((column) => row[column] ?? "failed")]));
  const lines = [
    "# Clients",
    "",
    "MCP clients of other projects, connected to a running Postern with six real servers: `server-everything`, `server-filesystem`, `server-memory`, `server-sequential-thinking`, Playwright's and one in Python. `npm run test:agents -- mcp-clients` runs them; `-u` writes this page.",
    "",
    line(["client", ...columns]),
    line(["---", ...columns.map(() => "---")]),
    ...rows,
    "",
    "“–”: the client has no such thing.",
    "",
    "## Waiting for an approval",
    "",
    "How a client waits follows from [what it declares](mcp.md#calls-that-need-approval). In each row a person approved meanwhile, and the tool ran once.",
    "",
    line(["client", "it waits"]),
    line(["---", "---"]),
    ...approvalClients.map(({ name }) => line([name, ways[waited.get(name) ?? expect.fail()]])),
    "",
  ];
  await expect(lines.join("\n")).toMatchFileSnapshot("../../docs/reference/clients.md");
});

describe("a server behind Postern", () => {
  const thought = { thought: "It is here.", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
  const one = { name: "Postern", entityType: "gate", observations: ["It asks."] };
  const calls: readonly (readonly [string, Arguments, string])[] = [
    ["everything__get-annotated-message", { messageType: "success" }, "success"],
    ["everything__get-resource-links", { count: 2 }, "resource_link"],
    ["everything__get-resource-reference", { resourceType: "Text", resourceId: 1 }, "everything+demo://"],
    ["everything__get-structured-content", { location: "Chicago" }, "temperature"],
    ["everything__get-sum", { a: 2, b: 3 }, "5"],
    ["everything__get-tiny-image", {}, "image/png"],
    ["everything__gzip-file-as-resource", { name: "a.gz", data: "data:text/plain,hello" }, "gzip"],
    ["everything__toggle-simulated-logging", {}, "ogging"],
    ["everything__toggle-subscriber-updates", {}, "updates"],
    ["everything__trigger-long-running-operation", { duration: 0.1, steps: 2 }, "completed"],
    ["everything__get-roots-list", {}, "root"],
    ["everything__trigger-sampling-request", { prompt: "Say it." }, "said by a model"],
    ["everything__simulate-research-query", { topic: "gates" }, "gates"],
    ["filesystem__list_allowed_directories", {}, "workspace"],
    ["memory__create_entities", { entities: [one] }, "Postern"],
    ["memory__search_nodes", { query: "gate" }, "It asks."],
    ["thinking__sequentialthinking", thought, "thoughtHistoryLength"],
    ["python__count_words", { text: "one two three" }, "3"],
    ["playwright__browser_navigate", { url: "data:text/html,<title>Here</title>" }, "Here"],
  ];

  let client: PeerClient;
  beforeAll(async () => {
    client = await (peers[1] ?? expect.fail()).open(gateway);
  });
  afterAll(() => client.close());

  it.each(calls.filter(([name]) => !absent.some((server) => name.startsWith(server))))(
    "%s",
    async (name, given, said) => {
      const answered = await client.call(name, given);
      expect(answered).toContain(said);
      expect(answered).not.toContain('"isError":true');
    },
  );
});
