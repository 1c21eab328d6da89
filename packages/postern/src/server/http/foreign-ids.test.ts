import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { roles } from "@postern/core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { actor } from "../../../../../test/fakes/actors.ts";
import { bodyOf, type HttpFixture, httpFixture, inSession } from "../../../../../test/fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../../../../../test/fakes/people.ts";
import { matrix } from "../../../../../test/fakes/role-matrix.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { type OpenMemory, openMemory } from "../../builtin/memory/open-memory.ts";
import { createRuntime, defineTool } from "../../index.ts";
import type { Delivered } from "../../observe/notify/channel.ts";
import { openRunFolders } from "../../observe/runs/folders.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { routes } from "./http-server.ts";

/** What a tenant has, by the word that stands for it in the paths of the table below. */
type Belongings = Readonly<Record<Kind, string>>;
type Kind = (typeof kinds)[number];
const kinds = [
  ...["call", "approval", "run", "grant", "alarm", "candidate", "artifact", "account", "token", "entry"],
] as const;

/** Of each route with a part in its path: whose that is. `house`: the installation's, the same for all tenants. */
const partOf: readonly (readonly [path: RegExp, kind: Kind | "house"])[] = [
  [/^\/v1\/(?:calls|chains)\//, "call"],
  [/^\/v1\/approvals\//, "approval"],
  [/^\/v1\/runs\//, "run"],
  [/^\/v1\/grants\//, "grant"],
  [/^\/v1\/alarms\//, "alarm"],
  [/^\/v1\/memory\/candidates\//, "candidate"],
  [/^\/v1\/artifacts\//, "artifact"],
  [/^\/v1\/accounts\//, "account"],
  [/^\/v1\/tokens\//, "token"],
  [/^\/v1\/audit\/heads\//, "house"],
  [/^\/v1\/audit\/\{seq\}/, "entry"],
  [/^\/v1\/(?:tools|servers|controls|channels|skills|agent-runs|connections)\//, "house"], // each caller has agent runs and connections of its own
];
const unknown: Belongings = {
  ...{
    call: `call_${"0".repeat(8)}-none`,
    approval: "apr_none",
    run: "none",
    grant: "grt_none",
  },
  ...{ alarm: "alm_none", candidate: "mem_none", artifact: "f".repeat(64), account: "none", token: "tok_none" },
  entry: "900000",
};

const input = { type: "object", properties: { to: { type: "string" } } } as const;
const tool = { description: "Does it.", risk: "high", effects: "write", idempotent: false, input } as const;
const tools = [
  defineTool({ ...tool, name: "send", execute: async () => "sent" }),
  defineTool({ ...tool, name: "fail", risk: "safe", effects: "read", execute: () => Promise.reject(new Error("no")) }),
  defineTool({
    ...tool,
    name: "print",
    risk: "safe",
    effects: "read",
    execute: async ({ to }) => String(to).repeat(50_000),
  }),
];

/** The installation's own: people of other tenants have nothing to look after there. */
const channel = { name: "pager", kind: "pager", target: "pager-default", wants: () => false, deliver: never } as const;
async function never(): Promise<Delivered> {
  return { delivered: true };
}

let folder: string;
let runtime: Runtime;
let memory: OpenMemory;
const atTheDoor = new FakeClock();
let http: HttpFixture;
const owned = new Map<string, Belongings>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-foreign-"));
  memory = await openMemory(
    { provider: "embedded", writeMode: "candidate", scopes: ["agent"] },
    {
      folder,
      clock: new FakeClock(),
      runs: openRunFolders(join(folder, "runs")),
      openArtifact: (digest, by) => runtime.artifacts.open(digest, by),
    },
  );
  runtime = await createRuntime({
    tools: [...tools, ...memory.tools],
    autonomy: "A3",
    folder,
    approvals: { patience: "suspend" },
    archive: { folder: join(folder, "runs") },
    channels: { also: [channel] },
    accounts: { passwordCost: cheap },
  });
  http = await httpFixture(runtime, { accounts: runtime.accounts, memory: memory.candidates, clock: atTheDoor });
  await runtime.controls.pause(actor("all-default"), "lunch of -default");
  await runtime.controls.resume(actor("all-default"));
  for (const tenant of ["default", "acme"]) owned.set(tenant, await settle(tenant));
}, 60_000);
afterAll(async () => {
  await http[Symbol.asyncDispose]();
  await runtime.close();
  memory.close();
  await rm(folder, { recursive: true });
});

/** One of everything, all of it spelled with the tenant's name or an id of its own. */
async function settle(tenant: string): Promise<Belongings> {
  const { accounts, approvals, alarms, audit } = runtime;
  const account = `all-${tenant}`;
  await accounts.add({ name: account, roles, tenant, password: goodPassword }, holder);
  const principal = { tenant, agent: `agent-${tenant}`, via: `token:${tenant}` };
  const run = `run-${tenant}`;
  const call = (name: string, given = {}) =>
    runtime.invoke({ tool: name, arguments: given }, { principal, runId: run, scopes: ["*"] });
  const [asked, granted] = [await call("send", { to: "a" }), await call("send", { to: "b" })];
  const by = { user: account, tenant, signedIn: true, via: `session:${account}` };
  const remember = { scope: {}, for: { until: Date.now() + 3_600_000 }, reason: `of ${tenant}` };
  const decided = await approvals.decide(granted.approvalId ?? "", { decision: "approved", by, remember });
  for (let i = 0; i < 5; i += 1) await call("fail", { to: `${i}` });
  const printed = await call("print", { to: tenant });
  const written = await call("write_memory", { content: `${tenant} likes tea` });
  const owner = await accounts.get(account, holder);
  const { token } = await accounts.makeToken({ name: `ci-${tenant}`, kind: "person" }, owner, {
    by: account,
    via: "session",
    tenant,
  });
  await vi.waitFor(() => expect(alarms.list({ tenant })).not.toEqual([]), { timeout: 50_000, interval: 10 });
  await runtime.runs?.flush();
  const [entry] = await audit.query({ tenant, limit: 1 });
  const candidate = (written.structured as { candidate_id?: string } | undefined)?.candidate_id;
  return {
    ...{
      call: asked.callId,
      approval: asked.approvalId ?? "",
      run,
      account,
      token: token.id,
      candidate: candidate ?? "",
    },
    grant: (decided.decided && decided.grant?.id) || "",
    alarm: alarms.list({ tenant })[0]?.id ?? "",
    artifact: printed.artifact ?? "",
    entry: String(entry?.seq ?? ""),
  };
}

async function headersOf(tenant: string): Promise<Readonly<Record<string, string>>> {
  return inSession(entered(await runtime.accounts.signIn(`all-${tenant}`, goodPassword, here)));
}

const withPart = routes.filter(({ path, needs }) => path.includes("{") && needs !== "nothing");

it("knows of each route whose its part is", () => {
  const unclear = withPart.filter(({ path }) => !partOf.some(([pattern]) => pattern.test(path)));
  expect(unclear.map(({ path }) => path)).toEqual([]);
  for (const [tenant, belongings] of owned)
    for (const kind of kinds) expect(belongings[kind], `${kind} of ${tenant}`).not.toBe("");
});

describe.each([
  ["acme", "default"],
  ["default", "acme"],
])("a person of %s who has every role, asked for what is of %s", (own, other) => {
  const kindOf = (path: string) => partOf.find(([pattern]) => pattern.test(path))?.[1] ?? "house";
  const begin = "/v1/runs/{id}/begin"; // of that name it begins a run of its own
  const mine = withPart.filter(({ path }) => kindOf(path) !== "house" && path !== begin);

  it.each(mine.map(({ method, path }) => `${method} ${path}`))(
    "%s: the same answer as for what does not exist",
    async (route) => {
      const [method = "", path = ""] = route.split(" ");
      const kind = kindOf(path);
      if (kind === "house") throw new Error("it is asked for nobody's");
      const headers = await headersOf(own);
      const { body } = matrix[route] ?? {};
      const answered = async (id: string): Promise<readonly [number, string]> => {
        await atTheDoor.advance(1_000); // who is refused often has to wait
        const response = await http.ask(path.replace(/\{\w+\}/, id), {
          ...{ method: method.toUpperCase(), headers },
          ...(body !== undefined && { body }),
        });
        const shown = (await response.text()).replaceAll(/\bit has \d+/g, "it has N"); // first: the number may hold the id
        return [response.status, shown.replaceAll(id, "ID").replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "WHEN")];
      };
      const foreign = owned.get(other)?.[kind] ?? "";
      const [status, shown] = await answered(foreign);
      expect([status, shown]).toEqual(await answered(unknown[kind]));
      expect(status).toBeGreaterThanOrEqual(400);
      for (const word of [`agent-${other}`, `all-${other}`, `of ${other}`]) expect(shown).not.toContain(word);
    },
  );

  const lists = routes.filter(({ method, path }) => method === "get" && !path.includes("{"));
  const endless = "/v1/events"; // never ends; stream.test.ts follows it through tenants
  const wholeLog = "/v1/audit/export"; // the installation's own, closed to other tenants

  it.each(lists.map(({ path }) => path).filter((path) => path !== endless && (path !== wholeLog || own !== "default")))(
    "%s: nothing of it",
    async (path) => {
      const { run = "", ...ids } = owned.get(other) ?? unknown;
      const query = path === "/v1/audit" ? "?limit=1000" : "";
      const headers = await headersOf(own);
      const narrowed = ["/v1/calls", "/v1/approvals", "/v1/chains", "/v1/audit/latest", "/v1/memory/candidates"];
      const asked = [`${path}${query}`, ...(narrowed.includes(path) ? [`${path}?run_id=${run}`] : [])];
      for (const one of asked) {
        const shown = await (await http.ask(one, { headers })).text();
        for (const word of [
          ...Object.values(ids).filter((id) => id.length > 8),
          `${other} likes`,
          `-${other}`,
          `"tenant":"${other}"`,
        ])
          expect(shown.includes(word), `${one} tells of ${word}`).toBe(false);
      }
    },
  );

  it("decided, changed and took away nothing", async () => {
    const { approval = "", run = "", grant = "", account = "" } = owned.get(other) ?? {};
    expect((await runtime.approvals.get(approval))?.state).toBe("pending");
    expect(runtime.approvals.grants.list({ tenant: other, state: "live" }).map(({ id }) => id)).toContain(grant);
    expect(await runtime.runs?.get({ runId: run, tenant: other })).toMatchObject({ state: "waiting" });
    expect(await runtime.accounts.get(account, holder)).toMatchObject({ disabled: false, roles: [...roles] });
    expect(runtime.alarms.list({ tenant: other }).every(({ state }) => state === "open")).toBe(true);
  });

  it("begins a run of its own under that name, and learns nothing of the other", async () => {
    const { run = "" } = owned.get(other) ?? {};
    const begun = await http.ask(begin.replace("{id}", run), { headers: await headersOf(own), body: {} });
    expect(await bodyOf(begun)).toMatchObject({ run_id: run, tenant: own, counts: { started: 0 } });
    expect(await runtime.runs?.get({ runId: run, tenant: other })).toMatchObject({
      principal: { agent: `agent-${other}` },
    });
  });

  it("counts the calls of its own alone", async () => {
    const headers = await headersOf(own);
    const shown = await bodyOf(await http.ask("/v1/statistics", { headers }));
    const sums = (shown["tools"] as { tool: string; calls: number }[]).map(({ tool: name, calls }) => [name, calls]);
    expect(sums).toContainEqual(["fail", 5]);
  });
});
