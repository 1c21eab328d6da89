/** Rules that look back hold over all processes of a shared store. */
import { expect, it } from "vitest";
import {
  createRuntime,
  defineTool,
  type Runtime,
  type RuntimeOptions,
  SystemClock,
} from "../../../packages/postern/src/index.ts";
import { MemoryArtifacts } from "../../../packages/postern/src/results/memory-artifacts.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";

const postgres = testPostgres();
const write = { risk: "safe", effects: "write", idempotent: false, inputSchema: { type: "object" } } as const;
const as = (runId: string) => ({ principal: { tenant: "acme", agent: "ada" }, runId });

async function gateways(options: RuntimeOptions): Promise<[Runtime, Runtime] & AsyncDisposable> {
  const store = postgres.newStore();
  const open = () => createRuntime({ autonomy: "A4", log: () => undefined, ...options, store });
  const both: [Runtime, Runtime] = [await open(), await open()];
  return Object.assign(both, {
    [Symbol.asyncDispose]: async () => void (await Promise.all(both.map((one) => one.close(0)))),
  });
}

it("a limit of five calls lets five of twelve run, over two gateways at once", async () => {
  let ran = 0;
  const mail = defineTool({ ...write, name: "mail", description: "Sends.", execute: () => `sent ${++ran}` });
  const rule = { effect: "deny", tool: "mail", history: { within: "tenant", atMost: 5 } } as const;
  await using both = await gateways({ tools: [mail], policy: { rules: [rule] } });
  const calls = Array.from({ length: 12 }, (_, i) =>
    (both[i % 2] as Runtime).invoke({ tool: "mail", arguments: { i } }, as(`r${i}`)),
  );
  const outcomes = await Promise.all(calls);
  expect(outcomes.filter(({ status }) => status === "ok")).toHaveLength(5);
  expect(ran).toBe(5);
});

it("what one gateway reads from outside taints the run at the other", async () => {
  const web = defineTool({
    ...write,
    effects: "read",
    idempotent: true,
    openWorld: true,
    name: "web",
    description: "Reads.",
    execute: () => "a page",
  });
  const post = defineTool({
    ...write,
    risk: "high",
    openWorld: true,
    name: "post",
    description: "Posts.",
    execute: () => "posted",
  });
  await using both = await gateways({
    tools: [web, post],
    policy: { taint: "raise" },
    approvals: { patience: "suspend" },
  });
  const [a, b] = both;
  expect(await b.invoke({ tool: "post", arguments: { n: 1 } }, as("run"))).toMatchObject({ status: "ok" });
  expect(await a.invoke({ tool: "web" }, as("run"))).toMatchObject({ status: "ok" });
  expect(await b.invoke({ tool: "post", arguments: { n: 2 } }, as("run"))).toMatchObject({ status: "pending" });
  expect(await b.invoke({ tool: "post", arguments: { n: 3 } }, as("other"))).toMatchObject({ status: "ok" });
});

it("what a principal reads by itself at one gateway taints its runs at the other, also at one that starts later", async () => {
  const page = defineTool({
    ...{ ...write, effects: "read", idempotent: true, openWorld: true, name: "page", description: "Reads." },
    execute: () => ({ content: [{ type: "file" as const, mediaType: "text/plain", data: "aGk=" }] }),
  });
  const post = defineTool({
    ...write,
    risk: "high",
    openWorld: true,
    name: "post",
    description: "Posts.",
    execute: () => "posted",
  });
  const store = postgres.newStore();
  const artifacts = new MemoryArtifacts({ clock: new SystemClock(), retentionMs: 60_000 });
  const open = () =>
    createRuntime({
      ...{ store, artifacts, autonomy: "A4", tools: [page, post], policy: { taint: "raise" }, log: () => undefined },
      approvals: { patience: "suspend" },
    });
  await using a = await open();
  await using b = await open();
  const ada = { principal: { tenant: "acme", agent: "ada" } };
  const { files = [] } = await a.invoke({ tool: "page" }, { ...ada, runId: "other" });
  expect(await b.invoke({ tool: "post", arguments: { n: 1 } }, ada)).toMatchObject({ status: "ok" });
  await a.readArtifact(files[0]?.artifact ?? "", ada.principal);
  await expect
    .poll(async () => (await b.invoke({ tool: "post", arguments: { n: Math.random() } }, ada)).status)
    .toBe("pending");
  await using c = await open();
  expect(await c.invoke({ tool: "post", arguments: { n: 3 } }, ada)).toMatchObject({ status: "pending" });
});
