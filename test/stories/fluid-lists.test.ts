import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../packages/core/src/clock.ts";
import { createRuntime, defineTool, type Runtime } from "../../packages/postern/src/index.ts";
import { type HttpFixture, httpFixture } from "../fakes/http-fixture.ts";
import { expectWork } from "../fakes/in-time.ts";

/** The size of a full installation. */
const calls = 40_000;
const pending = 10_000;
const runs = 200;

/** A clock that runs ahead, so that the test's seconds stand for hours. */
class HurriedClock extends SystemClock {
  aheadMs = 0;

  override now(): number {
    return super.now() + this.aheadMs;
  }
}

const input = { type: "object", properties: { to: { type: "string" } } } as const;
const reads = { description: "Reads.", risk: "safe", effects: "read", idempotent: true, input } as const;
const sends = { description: "Sends.", risk: "high", effects: "write", idempotent: false, input } as const;
const tools = [
  defineTool({ ...reads, name: "echo", execute: async () => "read" }),
  defineTool({ ...sends, name: "mail", execute: async () => "sent" }),
  defineTool({ ...sends, name: "post", execute: async () => "sent" }),
];

describe(`with ${pending} pending requests and ${2 * (calls + pending)} events`, () => {
  let folder: string;
  let runtime: Runtime;
  let http: HttpFixture;
  let middle = "";
  const clock = new HurriedClock();
  const began = clock.now();
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postern-lists-"));
    runtime = await createRuntime({
      ...{
        clock,
        tools,
        folder,
        store: `sqlite:${join(folder, "postern.db")}`,
        archive: { folder: join(folder, "runs") },
      },
      // Other people decide nearly all of the requests.
      approvals: { patience: "suspend", routes: [{ match: { tools: ["mail"] }, to: { users: ["nobody here"] } }] },
      limits: { maxToolCalls: 1_000_000 },
    });
    http = await httpFixture(runtime, { accounts: runtime.accounts });
    const call = (tool: string, at: number) => {
      const run = at % runs;
      const principal = { tenant: "default", agent: `agent${run % 7}`, user: `user${run % 50}`, via: "token:agent" };
      return runtime.invoke({ tool, arguments: { to: `${at}` } }, { principal, runId: `run${run}` });
    };
    const many = async (count: number, tool: (at: number) => string): Promise<string[]> => {
      const ids: string[] = [];
      for (let from = 0; from < count; from += 500) {
        const some = await Promise.all(Array.from({ length: 500 }, (_, i) => call(tool(from + i), from + i)));
        ids.push(...some.map(({ approvalId = "" }) => approvalId));
        clock.aheadMs += 60_000;
      }
      return ids;
    };
    await many(calls, () => "echo");
    const ids = await many(pending, (at) => (at % 100 === 0 ? "post" : "mail"));
    middle = ids[pending / 2] ?? "";
    for (const id of ids.slice(-300, -280))
      await runtime.approvals.withdraw(id, { user: "somebody", via: "token:operator" });
    await runtime.runs?.flush();
  }, 240_000);
  afterAll(async () => {
    await runtime.close();
    await http[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  async function read(path: string): Promise<void> {
    const answered = await http.ask(path, { as: "operator" });
    expect(answered.status, path).toBe(200);
    await answered.text();
  }

  it.each([
    "/v1/approvals?state=pending&limit=200",
    "/v1/approvals?state=pending&limit=200&after=MIDDLE",
    "/v1/approvals?state=pending&limit=200&mine=true",
    "/v1/approvals?state=pending&limit=200&mine=true&after=MIDDLE",
    "/v1/approvals?mine=true&tool=mail",
    "/v1/approvals?state=pending&risk=critical",
    "/v1/approvals?state=pending&limit=1",
    "/v1/approvals?state=pending&tool=post&run_id=run3",
    "/v1/approvals?state=withdrawn",
    "/v1/approvals?state=denied",
    "/v1/approvals?run_id=none",
    "/v1/approvals?tool=none",
    "/v1/grants?state=live",
    "/v1/calls?limit=50",
    "/v1/calls?run_id=run3&limit=12",
    "/v1/calls?run_id=none&limit=12",
    "/v1/calls?tool=none",
    "/v1/chains?run_id=run3",
    "/v1/runs?limit=1000",
    "/v1/runs?agent=none",
    "/v1/runs/run3/timeline?limit=250",
    "/v1/audit/latest?limit=100",
    "/v1/audit/latest?tool=none",
    "/v1/audit/latest?run_id=run3&limit=100",
    "/v1/audit/latest?text=none",
    "/v1/audit/latest?agent=agent3&type=gate.&outcome=failure",
    "/v1/audit/5/proof",
    "/v1/statistics",
    "/v1/tools",
    "/v1/health",
    "/v1/controls",
    "/v1/alarms?limit=100",
  ])("%s is answered within 50 ms of work", async (path) => {
    await expectWork(50, () => read(path.replace("MIDDLE", middle)));
  });

  it.each([
    ["/v1/audit?", 4, 5],
    ["/v1/audit?limit=1000&", 0, 2],
    ["/v1/audit?tool=none&", 20, 22],
    ["/v1/audit?", 1_000, 2_000],
    ["/v1/audit/latest?", 4, 5],
    ["/v1/audit/latest?tool=none&", 20, 22],
  ])("%s of minutes %i to %i is answered within 50 ms of work", async (path, from, to) => {
    const at = (minute: number): string => new Date(began + minute * 60_000).toISOString();
    await expectWork(50, () => read(`${path}since=${at(from)}&until=${at(to)}`));
  });

  it("a whole inbox is paged: no request twice or missing, and the count at once", async () => {
    const seen = new Set<string>();
    const order: string[] = [];
    let waiting: object | undefined;
    let pages = 0;
    for (let after: string | undefined; ; pages += 1) {
      const page = await runtime.approvals.page({
        state: "pending",
        limit: 1_000,
        ...(after !== undefined && { after }),
      });
      waiting ??= page.waiting;
      for (const approval of page.approvals) {
        seen.add(approval.id);
        order.push(approval.id);
      }
      after = page.nextAfter;
      if (after === undefined) break;
    }
    expect([seen.size, order.length, pages]).toEqual([pending - 20, pending - 20, 9]);
    const whole = await runtime.approvals.list({ state: "pending" });
    expect(order).toEqual(whole.map(({ id }) => id));
    expect(waiting).toEqual({ safe: 0, medium: 0, high: pending - 20, critical: 0 });
  });
});
