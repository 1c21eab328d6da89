/**
 * From a decision to the answer of the call that waits for it: 200 calls wait over MCP at one gateway, and are decided one
 * after another at another gateway of the same store, then at their own. Give the address of a database:
 *
 *     POSTERN_TEST_PG=postgres://postgres@127.0.0.1:5432/postgres npm run bench -- decisions
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type GatewayProcess, GatewayProcesses } from "../test/fakes/gateway-processes.ts";
import { percentile } from "./harness.ts";

const [calls, mostMs] = [200, 50];
const address = process.env["POSTERN_TEST_PG"];
if (address === undefined) throw new Error("Set POSTERN_TEST_PG to the address of a PostgreSQL database.");

await using gateways = new GatewayProcesses(`${address}?schema=bench_${process.pid}_${Date.now()}`);
const a = await gateways.gateway("a");
const b = await gateways.gateway("b");
const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
const headers = { authorization: `Bearer ${gateways.agentToken}` };
await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", a.url), { requestInit: { headers } }));

/** Milliseconds of each. */
async function decidedAt({ operator }: GatewayProcess, round: string, count: number): Promise<readonly number[]> {
  /** When each is answered. */
  const answers = new Map<string, Promise<number>>();
  const send = async (text: string): Promise<number> => {
    // With progress, a call waits longer for a person.
    const options = { onprogress: () => {}, timeout: 60_000 };
    const { isError } = await client.callTool({ name: "send", arguments: { text } }, options);
    if (isError === true) throw new Error(`\`${text}\` was not sent.`);
    return performance.now();
  };
  for (let i = 0; i < count; i += 1) answers.set(`${round} ${i}`, send(`${round} ${i}`));
  for (;;) {
    const { approvals } = await a.operator.approvals.list({ state: "pending", limit: 500 });
    if (approvals.length < count) continue;
    const times: number[] = [];
    for (const { approval_id: id, what } of approvals) {
      const begun = performance.now();
      await operator.approvals.approve({ id });
      times.push(((await answers.get(String(what.arguments["text"]))) ?? Number.NaN) - begun);
    }
    return times;
  }
}

await decidedAt(b, "warm", 50);
for (const [where, gateway] of Object.entries({ "another gateway": b, "the gateway of the call": a })) {
  const times = await decidedAt(gateway, where, calls);
  const [p50 = 0, p95 = 0, p99 = 0] = [0.5, 0.95, 0.99].map((share) => percentile(times, share));
  console.log(`decided at ${where}: p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
  if (gateway === b && p95 > mostMs) process.exitCode = 1;
}
console.log(`p95 at another gateway: at most ${mostMs} ms`);
await client.close();
