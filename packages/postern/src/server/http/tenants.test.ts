import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bodyOf, type HttpFixture, httpFixture, inSession } from "../../../../../test/fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../../../../../test/fakes/people.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { createRuntime } from "../../runtime/create.ts";
import { defineTool } from "../../tools/define.ts";

const send = defineTool({
  name: "send",
  description: "Sends.",
  risk: "high",
  effects: "write",
  idempotent: false,
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
  execute: async () => "sent",
});
let runtime: Runtime;
let http: HttpFixture;
const approvalIds = new Map<string, string>();
const callIds = new Map<string, string>();

beforeAll(async () => {
  runtime = await createRuntime({
    tools: [send],
    autonomy: "A2",
    approvals: { patience: "suspend" },
    accounts: { passwordCost: cheap },
  });
  const { accounts } = runtime;
  http = await httpFixture(runtime, { accounts });
  for (const tenant of ["default", "acme"]) {
    const asked = await runtime.invoke({ tool: "send" }, { principal: { tenant, agent: "bot" } });
    approvalIds.set(tenant, asked.approvalId ?? "");
    callIds.set(tenant, asked.callId);
    const all = ["viewer", "approver", "operator", "auditor", "admin"] as const;
    await accounts.add({ name: `all@${tenant}`, roles: all, tenant, password: goodPassword }, holder);
  }
});
afterAll(async () => {
  await http[Symbol.asyncDispose]();
  await runtime.close();
});

async function signedIn(tenant: string): Promise<Readonly<Record<string, string>>> {
  return inSession(entered(await runtime.accounts.signIn(`all@${tenant}`, goodPassword, here)));
}

describe.each([
  ["default", "acme"],
  ["acme", "default"],
])("a person of %s who has every role", (own, other) => {
  it(`sees calls, approvals and events of its tenant, and none of ${other}`, async () => {
    const headers = await signedIn(own);
    const list = async (path: string) => JSON.stringify(await bodyOf(await http.ask(path, { headers })));
    for (const path of ["/v1/calls", "/v1/approvals", "/v1/audit?limit=1000", "/v1/audit/latest", "/v1/accounts"]) {
      const text = await list(path);
      const foreign = [callIds.get(other), approvalIds.get(other), `all@${other}`, `"tenant":"${other}"`];
      for (const word of foreign) expect(text, path).not.toContain(word);
      expect(text, path).toContain(path === "/v1/accounts" ? `all@${own}` : "bot");
    }
  });

  it(`finds nothing under the ids of ${other}, and decides nothing there`, async () => {
    const headers = await signedIn(own);
    const id = approvalIds.get(other) ?? "";
    for (const path of [`/v1/calls/${callIds.get(other)}`, `/v1/approvals/${id}`, `/v1/accounts/all@${other}`])
      expect((await http.ask(path, { headers })).status, path).toBe(404);
    for (const verb of ["approve", "deny", "skip", "withdraw", "resume"])
      expect((await http.ask(`/v1/approvals/${id}/${verb}`, { headers, body: {} })).status, verb).toBe(404);
    expect((await runtime.approvals.get(id))?.state).toBe("pending");
  });

  it("reads the proof of an event of its own, and of no other", async () => {
    const headers = await signedIn(own);
    for (let seq = 0; seq < runtime.audit.size; seq += 1) {
      const [event] = await runtime.audit.query({ after: seq - 1, limit: 1 });
      const answered = await http.ask(`/v1/audit/${seq}/proof`, { headers });
      expect(answered.status, `${seq} of ${event?.tenant}`).toBe(event?.tenant === own ? 200 : 404);
    }
  });
});

it("a token's use is named in the log: who decided, and who called", async () => {
  const { accounts } = runtime;
  const ada = await accounts.add({ name: "ada", roles: ["operator", "approver"], password: goodPassword }, holder);
  const mine = { by: "ada", via: "session:ada", tenant: "default" };
  const agent = await accounts.makeToken({ name: "bot", kind: "agent", agent: "bot2" }, ada, mine);
  const bearer = { authorization: `Bearer ${agent.text}` };
  const asked = await bodyOf(await http.ask("/v1/calls", { headers: bearer, body: { tool: "send" } }));
  expect(asked).toMatchObject({ status: "pending" });
  const events = await runtime.audit.query({ callId: String(asked["call_id"]) });
  expect(events[0]).toMatchObject({ principal: { agent: "ada/bot2", via: `token:${agent.token.id}` } });
});

it("who asked with one credential does not decide with it", async () => {
  const ada = await runtime.accounts.get("ada", holder);
  const mine = { by: "ada", via: "session:ada", tenant: "default" };
  const person = await runtime.accounts.makeToken({ name: "cli", kind: "person" }, ada, mine);
  const headers = { authorization: `Bearer ${person.text}` };
  const asked = await bodyOf(await http.ask("/v1/calls", { headers, body: { tool: "send" } }));
  const decided = await http.ask(`/v1/approvals/${asked["approval_id"]}/approve`, { headers, body: {} });
  expect(decided.status).toBe(403);
});
