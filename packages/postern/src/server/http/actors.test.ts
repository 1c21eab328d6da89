/** Who did it, and by which credential: of every act that a person does by hand, whatever route it comes by. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Changing, read } from "../../../../../test/fakes/changing.ts";
import { host, httpFixture, inSession } from "../../../../../test/fakes/http-fixture.ts";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { cheap, goodPassword, here, holder } from "../../../../../test/fakes/people.ts";
import { matrix } from "../../../../../test/fakes/role-matrix.ts";
import type { Decider } from "../../approvals/index.ts";
import { defineSkill } from "../../builtin/index.ts";
import { createRuntime, defineTool, type Runtime } from "../../index.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What a route is asked with: a path with its ids, and a body. */
type Request = readonly [path: string, body?: Fields];

const bot = { principal: { tenant: "default", agent: "bot" } } as const;
const cal: Decider = { user: "cal", via: "session:cal", tenant: "default", roles: ["approver"], signedIn: true };
const run = "run_1";
let number = 0;

/** The approval that a call waits for. */
async function held(runtime: Runtime): Promise<string> {
  number += 1;
  const call = { tool: "mail", arguments: { to: `m${number}` } };
  return (await runtime.invoke(call, { ...bot, runId: run })).approvalId ?? "";
}

async function decided(runtime: Runtime, remember?: object): Promise<Fields> {
  const approval = await held(runtime);
  const more = remember === undefined ? {} : { remember: { for: "run" as const, reason: "the same" } };
  const made = await runtime.approvals.decide(approval, { decision: "approved", by: cal, ...more });
  return { approval, grant: made.decided ? made.grant?.id : undefined };
}

async function lost(runtime: Runtime): Promise<string> {
  number += 1;
  const { approvalId = "" } = await runtime.invoke({ tool: "wire", arguments: { number } }, bot);
  await runtime.approvals.decide(approvalId, { decision: "approved", by: cal });
  return (await runtime.resume(approvalId))?.callId ?? "";
}

async function alarmed(runtime: Runtime): Promise<string> {
  for (let times = 0; times < 6; times += 1) await runtime.invoke({ tool: "flaky", arguments: { times } }, bot);
  await expect.poll(() => runtime.alarms.list().find(({ state }) => state !== "resolved")?.id).toBeDefined();
  return runtime.alarms.list().find(({ state }) => state !== "resolved")?.id ?? "";
}

async function token(runtime: Runtime): Promise<string> {
  const { accounts } = runtime;
  const made = await accounts.makeToken({ name: "ci", kind: "person" }, await accounts.get("ann", holder), holder);
  return made.token.id;
}

async function decision(runtime: Runtime, verb: string, body: Fields = {}): Promise<Request> {
  return [`/v1/approvals/${await held(runtime)}/${verb}`, body];
}

/** Every route that changes something by a person's hand, with what makes it write its event. */
const acts: Readonly<Record<string, (runtime: Runtime) => Request | Promise<Request>>> = {
  "post /v1/calls/{id}/settle": async (runtime) => [
    `/v1/calls/${await lost(runtime)}/settle`,
    { outcome: "succeeded", reason: "seen" },
  ],
  "post /v1/tools/{name}/approve": ({ pins }) => [
    "/v1/tools/files__read/approve",
    { definition: pins.changes("files__read")?.offered?.digest },
  ],
  "post /v1/approvals/{id}/approve": (runtime) => decision(runtime, "approve"),
  "post /v1/approvals/{id}/deny": (runtime) => decision(runtime, "deny"),
  "post /v1/approvals/{id}/skip": (runtime) => decision(runtime, "skip"),
  "post /v1/approvals/{id}/modify": (runtime) => decision(runtime, "modify", { arguments: { to: "other" } }),
  "post /v1/approvals/{id}/comments": (runtime) => decision(runtime, "comments", { text: "Which of the two?" }),
  "post /v1/approvals/batch": async (runtime) => [
    "/v1/approvals/batch",
    { ids: [await held(runtime)], decision: "denied" },
  ],
  "post /v1/approvals/{id}/withdraw": (runtime) => decision(runtime, "withdraw"),
  "post /v1/approvals/{id}/resume": async (runtime) => [`/v1/approvals/${(await decided(runtime))["approval"]}/resume`],
  "post /v1/approvals/{id}/revoke": async (runtime) => [`/v1/approvals/${(await decided(runtime))["approval"]}/revoke`],
  "post /v1/grants/{id}/revoke": async (runtime) => [`/v1/grants/${(await decided(runtime, {}))["grant"]}/revoke`],
  "post /v1/controls/pause": () => ["/v1/controls/pause"],
  "post /v1/controls/resume": () => ["/v1/controls/resume"],
  "post /v1/controls/pauses": () => ["/v1/controls/pauses", { agent: "another", paused: true }],
  "post /v1/controls/autonomy": () => ["/v1/controls/autonomy", { level: "A2" }],
  "post /v1/controls/tools/{name}": () => ["/v1/controls/tools/mail", { enabled: false }],
  "post /v1/controls/servers/{name}": () => ["/v1/controls/servers/files", { enabled: false }],
  "post /v1/servers/{name}/reconnect": () => ["/v1/servers/files/reconnect"],
  "post /v1/runs/{id}/begin": () => ["/v1/runs/run_3/begin", { task: "sort the mail" }],
  "post /v1/runs/{id}/describe": async ({ runs }) => {
    await runs?.begin({ runId: "run_4" });
    return ["/v1/runs/run_4/describe", { transcript: "said" }];
  },
  "post /v1/runs/{id}/finish": async ({ runs }) => {
    await runs?.begin({ runId: "run_2" });
    return ["/v1/runs/run_2/finish"];
  },
  "post /v1/skills/{name}/activate": () => ["/v1/skills/letters/activate", { run_id: run }],
  "post /v1/skills/{name}/deactivate": () => ["/v1/skills/letters/deactivate", { run_id: run }],
  "post /v1/alarms/{id}/ack": async (runtime) => [`/v1/alarms/${await alarmed(runtime)}/ack`],
  "post /v1/alarms/{id}/resolve": async (runtime) => [`/v1/alarms/${await alarmed(runtime)}/resolve`],
  "post /v1/channels/{name}/test": () => ["/v1/channels/ours/test"],
  "post /v1/channels/{name}/retry": () => ["/v1/channels/ours/retry"],
  "post /v1/secrets/changes": () => ["/v1/secrets/changes", { connector: "github", key: "token", act: "set" }],
  "post /v1/accounts": () => ["/v1/accounts", { name: "newcomer", roles: [] }],
  "patch /v1/accounts/{name}": () => ["/v1/accounts/bob", { groups: ["ops"] }],
  "put /v1/accounts/{name}/password": () => ["/v1/accounts/bob/password", { password: "another horse battery" }],
  "post /v1/accounts/{name}/sign-out": () => ["/v1/accounts/bob/sign-out"],
  "post /v1/accounts/{name}/link": () => ["/v1/accounts/bob/link"],
  "put /v1/connections/{server}": () => ["/v1/connections/keyed", { keys: { token: "a key of ann" } }],
  "delete /v1/connections/{server}": async ({ connections }) => {
    await connections?.enter("keyed", { tenant: "default", user: "ann" }, { token: "a key of ann" });
    return ["/v1/connections/keyed"];
  },
  "post /v1/tokens": () => ["/v1/tokens", { name: "mine", kind: "person" }],
  "delete /v1/tokens/{id}": async (runtime) => [`/v1/tokens/${await token(runtime)}`],
};

/** They write nothing, or only what a call writes; or need a part of their own, and are told of beside it. */
const others: ReadonlySet<string> = new Set([
  ...["post /v1/calls", "post /v1/explain"],
  ...["post /v1/policy/explain", "post /v1/policy/simulate", "post /v1/policy/test", "post /v1/audit/checkpoint"],
  "post /v1/artifacts", // a worker, for its running call: test/attacks/workers/forged-killed.test.ts
  "post /v1/calls/{id}/reconcile", // by the tool's own word: who asked it is told of below
  ...["delete /v1/session", "put /v1/session/password"], // what a session does to itself: sessions.test.ts
  "put /v1/audit/heads/{name}", // another Postern's act, by a token that may sign: test/stories/audit-outside.test.ts
  "delete /v1/agent-runs/{id}", // the caller's own run: test/stories/agent-limits.test.ts
  "put /v1/agent-runs/{id}", // the state of the caller's own loop: test/stories/agent-run-killed.test.ts
  "post /v1/connections/{server}/sign-in", // its end is noted: connection-routes.test.ts
  ...["post /v1/backups", "post /v1/backups/checked"], // cli/backup.test.ts
  "post /v1/policy/save", // policy-routes.test.ts
  "post /v1/policy/reload", // cli/policy-reload.test.ts
  "post /v1/policy/activate", // config/shared-policy-file.test.ts
  "post /v1/chains/{id}/resume", // chain-routes.test.ts
  ...["post /v1/memory/candidates/{id}/accept", "post /v1/memory/candidates/{id}/reject"], // memory-routes.test.ts
]);

describe("an act by hand is in the log with person and credential", () => {
  let runtime: Runtime;
  let server: Changing;
  let http: Awaited<ReturnType<typeof httpFixture>>;
  let headers: Readonly<Record<string, string>>;

  beforeAll(async () => {
    server = new Changing(read);
    const failing = (name: string, risk: "safe" | "medium", fault: () => Error) =>
      defineTool({
        ...({ name, risk, description: "Fails.", effects: "write", idempotent: false } as const),
        input: { type: "object" },
        execute: async () => {
          throw fault();
        },
      });
    const mail = defineTool({
      ...({ name: "mail", description: "Mails.", risk: "high", effects: "write", idempotent: false } as const),
      input: { type: "object" },
      execute: async () => "sent",
    });
    runtime = await createRuntime({
      tools: [
        mail,
        failing("flaky", "safe", () => new Error("down")),
        failing("wire", "medium", () => Object.assign(new Error("reset"), { unknown: true })),
      ],
      servers: {
        files: server.config({ pin: "strict" }),
        keyed: { url: "http://127.0.0.1:1/mcp", headers: { "X-Api-Key": "secret://person/token" } },
      },
      skills: { folders: [], skills: [defineSkill({ name: "letters", instructions: "x" })] },
      approvals: { patience: "suspend" },
      archive: { folder: ownFolder() },
      channels: {
        also: [
          { name: "ours", kind: "own", target: "here", wants: () => false, deliver: async () => ({ delivered: true }) },
        ],
      },
      accounts: { passwordCost: cheap },
    });
    for (const name of ["ann", "bob"])
      await runtime.accounts.add({ name, roles: ["approver", "operator", "admin"], password: goodPassword }, holder);
    const signedIn = await runtime.accounts.signIn("ann", goodPassword, here);
    if ("refused" in signedIn) throw new Error("nobody signed in");
    headers = inSession(signedIn);
    http = await httpFixture(runtime, { accounts: runtime.accounts });
    const isThere = () => expect(runtime.pins.changes("files__read")?.offered).toBeDefined();
    await vi.waitFor(isThere, { timeout: 50_000, interval: 10 });
  });

  afterAll(async () => {
    await runtime.close();
    await http[Symbol.asyncDispose]();
    server[Symbol.dispose]();
  });

  it("whatever the route: none of the table is forgotten here", () => {
    const changing = Object.entries(matrix).filter(([route, { needs }]) => needs !== "nothing" && !/^get /.test(route));
    expect([...Object.keys(acts), ...others].sort()).toEqual(changing.map(([route]) => route).sort());
  });

  it.each(Object.entries(acts))("%s", async (route, prepare) => {
    const [path, body = {}] = await prepare(runtime);
    const before = runtime.audit.size;
    const [method = ""] = route.split(" ");
    const sent = method === "delete" ? {} : { body };
    const answered = await http.ask(path, { method: method.toUpperCase(), ...sent, headers: { host, ...headers } });
    expect(answered.status, await answered.text()).toBeLessThan(300);
    const events = (await runtime.audit.query({ after: before - 1, limit: 100 })).filter(({ seq }) => seq >= before);
    const byHand = events.filter(({ principal, type }) => principal?.agent !== "system" && !/^tool_call/.test(type));
    expect(byHand.length, JSON.stringify(events.map(({ type }) => type))).toBeGreaterThan(0);
    for (const event of byHand) expect(event).toMatchObject({ decided_by: "ann", decided_via: "session:ann" });
  });

  it("who has a tool asked what became of a call, also where the tool cannot tell", async () => {
    const id = await lost(runtime);
    const answered = await http.ask(`/v1/calls/${id}/reconcile`, { body: {}, headers: { host, ...headers } });
    expect(answered.status).toBe(409);
    await answered.text();
    const [received, ...more] = await runtime.audit.query({ type: "operator.action.call_reconciled" });
    expect(received).toMatchObject({ decided_by: "ann", decided_via: "session:ann", data: { tool: "wire" } });
    expect(more).toEqual([]);
  });
});
