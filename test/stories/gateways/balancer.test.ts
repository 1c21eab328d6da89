/** Clients of two real gateways behind Caddy and nginx, with the files of deploy/. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PosternClient } from "../../../packages/core/src/contract/client.ts";
import { createClient } from "../../../packages/postern/src/server/client/client.ts";
import { type ApprovalClient, approvalClients, type ClientPlace, connectNew } from "../../fakes/approval-clients.ts";
import { type Balancer, type BalancerName, balancers, isInstalled, startBalancer } from "../../fakes/balancer.ts";
import { type GatewayProcess, GatewayProcesses } from "../../fakes/gateway-processes.ts";
import { freePort } from "../../fakes/nats-server.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";

/** 1,000 take minutes. */
const sessions = Number(process.env["MCP_SESSIONS"] ?? 60);
const postgres = testPostgres();
const ofNewRevision = approvalClients.filter(({ name }) => name.includes("2026-07-28"));
let gateways: GatewayProcesses;
let both: readonly GatewayProcess[];
let ports: Readonly<Record<BalancerName, number>>;

beforeAll(async () => {
  ports = { caddy: await freePort(), nginx: await freePort() };
  const hosts = Object.values(ports).map((port) => `127.0.0.1:${port}`);
  gateways = new GatewayProcesses(postgres.newStore(), {
    listen: { hosts, trusted_proxies: ["127.0.0.1"] },
    limits: { approval_wait_ms: 20_000 },
  });
  both = await Promise.all([gateways.gateway("a"), gateways.gateway("b")]);
});
afterAll(async () => gateways[Symbol.asyncDispose]());

const started = (name: BalancerName): Promise<Balancer> => startBalancer(name, { port: ports[name], gateways: both });

/** Does all of them, a few at a time. Returns what failed. */
async function failuresOf(count: number, work: (i: number) => Promise<void>): Promise<readonly string[]> {
  const failures: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++)
      await work(i).catch((error: unknown) => failures.push(`${i}: ${error}`));
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return failures;
}

/** Approves each request, on the gateway that the balancer chooses, until it is stopped. */
function decider(operator: PosternClient): { stop(): Promise<void> } {
  let isOver = false;
  const decide = async (): Promise<void> => {
    const { approvals } = await operator.approvals.list({ state: "pending", limit: 50 });
    await Promise.all(approvals.map(({ approval_id: id }) => operator.approvals.approve({ id })));
    if (approvals.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    if (!isOver) await decide();
  };
  const deciding = decide();
  return {
    stop: async () => {
      isOver = true;
      await deciding;
    },
  };
}

/** Twenty agents, each with a token of its own. */
async function placesOf({ url }: Balancer): Promise<readonly [ClientPlace, ...ClientPlace[]]> {
  const { tokens } = createClient({ url, token: gateways.operatorToken });
  const one = async (): Promise<ClientPlace> => {
    const made = await tokens.create({ name: `agent-${randomUUID()}`, kind: "agent" });
    return { url, token: made.token };
  };
  return [await one(), ...(await Promise.all(Array.from({ length: 19 }, one)))];
}

/** How many calls a gateway has got. */
async function callsAt({ url }: GatewayProcess): Promise<number> {
  const headers = { authorization: `Bearer ${gateways.operatorToken}` };
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  return [...text.matchAll(/^postern_calls_total\{.*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
}

/** One client: what it does lands on either gateway. */
async function newSession(place: ClientPlace, name: string, asks: ApprovalClient): Promise<void> {
  const client = await connectNew(place, "2026-07-28");
  const { tools } = await client.listTools();
  expect(tools.map((tool) => tool.name)).toContain("send");
  expect(await client.callTool({ name: "echo", arguments: { text: name } })).toMatchObject({ isError: false });
  await client.close();
  const { text } = await asks.call(place, "send", { text: name });
  expect(text).toBe(`sent ${name}`);
  const own = createClient(place);
  const first = await own.calls.list({ limit: 1 });
  const second = await own.calls.list({ limit: 1, before: first.next_before ?? "" });
  expect(second.calls[0]?.call_id).not.toBe(first.calls[0]?.call_id);
}

describe.each(balancers.filter(isInstalled))("behind %s", (name) => {
  it(
    `no session of MCP 2026-07-28 fails: ${sessions}, or MCP_SESSIONS=1000`,
    async () => {
      await using balancer = await started(name);
      const place = { url: balancer.url, token: gateways.agentToken };
      const deciding = decider(createClient({ url: balancer.url, token: gateways.operatorToken }));
      const before = gateways.runs.length;
      const failures = await failuresOf(sessions, async (i) => {
        const asks = ofNewRevision[i % ofNewRevision.length];
        if (asks !== undefined) await newSession(place, `${name}-${i}`, asks);
      });
      await deciding.stop();
      expect(failures).toEqual([]);
      const sent = gateways.runs.slice(before);
      expect(new Set(sent).size).toBe(sessions);
      expect(sent).toHaveLength(sessions);
      for (const gateway of both) expect(await callsAt(gateway)).toBeGreaterThan(sessions / 4);
    },
    120_000 + sessions * 1_000,
  );

  it("no session of MCP 2025-11-25 fails, because those of a token are at one gateway", async () => {
    await using balancer = await started(name);
    const places = await placesOf(balancer);
    const before = await Promise.all(both.map(callsAt));
    const failures = await failuresOf(100, async (i) => {
      const client = await connectNew(places[i % places.length] ?? places[0], "2025-11-25");
      expect((await client.listTools()).tools.map((tool) => tool.name)).toContain("echo");
      for (const text of ["one", "two", "three"])
        expect(await client.callTool({ name: "echo", arguments: { text } })).toMatchObject({ isError: false });
      await client.close();
    });
    expect(failures).toEqual([]);
    const after = await Promise.all(both.map(callsAt));
    expect(after.map((calls, at) => calls > (before[at] ?? 0))).toEqual([true, true]);
  });
});

it("a session of MCP 2025-11-25 gets 404 at another gateway, opens again and goes on", async () => {
  const [a, b] = both.map(({ url }) => ({ url, token: gateways.agentToken })) as [ClientPlace, ClientPlace];
  const client = await connectNew(a, "2025-11-25");
  const headers = {
    ...{ authorization: `Bearer ${b.token}`, "mcp-session-id": client.transport?.sessionId ?? "" },
    ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: "next", method: "tools/list" });
  const answer = await fetch(new URL("/mcp", b.url), { method: "POST", headers, body });
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain("This session does not exist; send `initialize` again.");
  const again = await connectNew(b, "2025-11-25");
  expect(await again.callTool({ name: "echo", arguments: { text: "hi" } })).toMatchObject({ isError: false });
  await Promise.all([client.close(), again.close()]);
});
