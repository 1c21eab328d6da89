import { permissions } from "@postern/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  bodyOf,
  type HttpFixture,
  httpFixture,
  inSession,
  stubFixture,
} from "../../../../../test/fakes/http-fixture.ts";
import { everybody, holder, type People, people } from "../../../../../test/fakes/people.ts";
import {
  type Column,
  columns,
  expected,
  grid,
  matrix,
  numbered,
  pathOf,
} from "../../../../../test/fakes/role-matrix.ts";
import { aRecord, stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { routes } from "./http-server.ts";

const codeOf = async (response: Response): Promise<unknown> =>
  ((await bodyOf(response))["error"] as { code?: unknown } | undefined)?.code;

describe("the matrix of roles, routes and tenants", () => {
  let crowd: People;
  let http: HttpFixture;
  beforeEach(async () => {
    crowd = await people();
    await everybody(crowd);
    await crowd.add("target", ["viewer"]);
    await crowd.add("sponsor", ["operator", "admin"]);
    await crowd.add("sponsor@acme", ["operator", "admin"], "acme");
    http = await httpFixture(stubRuntime({ owner: "bot" }).runtime, { accounts: crowd.accounts, clock: crowd.clock });
  });
  afterEach(() => http[Symbol.asyncDispose]());

  /** The headers that give a request its caller. */
  async function shown({ who, tenant, by }: Column): Promise<Readonly<Record<string, string>>> {
    const { accounts } = crowd;
    if (by === "none") return {};
    if (by === "file") return { authorization: `Bearer ${http.tokens[who === "agent" ? "agent" : "operator"]}` };
    const name = tenant === "acme" ? `${who}@acme` : `${who}-here`;
    if (by === "session") return inSession(await crowd.signIn(name));
    const isAgent = who === "agent";
    const owner = await accounts.get(isAgent ? (tenant === "acme" ? "sponsor@acme" : "sponsor") : name, holder);
    // The runtime of this runtime knows what belongs to the agent `bot`.
    const wanted = isAgent ? { name: "bot", kind: "agent", agent: "bot" } : { name: "ci", kind: "person" };
    const { text } = await accounts.makeToken({ ...wanted, kind: isAgent ? "agent" : "person" }, owner, holder);
    return { authorization: `Bearer ${text}` };
  }

  it("has a row for every route, and each asks for what its row says", () => {
    const asked = Object.fromEntries(routes.map(({ method, path, needs }) => [`${method} ${path}`, needs]));
    expect(asked).toEqual(Object.fromEntries(Object.entries(matrix).map(([route, { needs }]) => [route, needs])));
  });

  it("knows every permission", () => {
    expect(Object.keys(grid).sort()).toEqual([...permissions].sort());
  });

  it.each(Object.entries(matrix))("%s", async (route, row) => {
    const [method = "", path = ""] = route.split(" ");
    const wanted: Record<string, number> = {};
    const got: Record<string, number> = {};
    for (const [at, column] of columns.entries()) {
      wanted[column.name] = expected(row, column);
      const body = row.body === undefined ? {} : { body: numbered(row.body, at) };
      const headers = await shown(column);
      const answered = await http.ask(pathOf(path), { method: method.toUpperCase(), ...body, headers });
      got[column.name] = answered.status;
      await answered.body?.cancel();
      await crowd.clock.advance(1_000);
    }
    expect(got).toEqual(wanted);
  });
});

describe("a route that no agent may use", () => {
  it.each(Object.entries(matrix).filter(([, { needs }]) => needs !== "nothing" && !grid[needs].includes("agent")))(
    "%s tells an agent the same whether the id exists or not, and asks the runtime nothing",
    async (route) => {
      const [method = "", path = ""] = route.split(" ");
      const stub = stubRuntime();
      await using http = await httpFixture(stub.runtime, { accounts: (await people()).accounts });
      const refused = await http.ask(path.replace(/\{\w+\}/, "apr_unknown"), {
        as: "agent",
        method: method.toUpperCase(),
        ...(method !== "get" && { raw: "not JSON" }),
      });
      expect(refused.status).toBe(403);
      expect(await codeOf(refused)).toBe("permission_missing");
      expect(stub.requests).toEqual([]);
    },
  );
});

describe("who may do what", () => {
  const http = stubFixture();

  it.each(["/v1/nothing", "/v1", "/", "/openapi.json", "/mcp", "/mcp/files", "/healthz/", "/v1/calls/"])(
    "asks for a token before saying whether %s exists",
    async (path) => {
      expect((await http.ask(path)).status).toBe(401);
    },
  );

  it("shows an agent nothing of another agent or another tenant, and the operator nothing of another tenant", async () => {
    for (const [owner, tenant, agent, operator] of [
      ["other", "default", 404, 200],
      ["local-agent", "acme", 404, 404],
    ] as const) {
      await http.open({ owner, tenant });
      for (const path of [
        `/v1/calls/${aRecord().call.id}`,
        "/v1/approvals/apr_1",
        "/v1/approvals/apr_1/withdraw",
        "/v1/approvals/apr_1/resume",
      ]) {
        const body = /withdraw|resume/.test(path) ? { body: {} } : {};
        expect((await http.ask(path, { as: "agent", ...body })).status, path).toBe(agent);
        expect((await http.ask(path, { as: "operator", ...body })).status, path).toBe(operator);
      }
      expect(await bodyOf(await http.ask("/v1/calls", { as: "agent" }))).toEqual({ calls: [] });
      expect(await bodyOf(await http.ask("/v1/approvals", { as: "agent" }))).toMatchObject({ approvals: [] });
    }
  });

  it("slows an address down after ten wrong tokens in a second, and still lets the right token in", async () => {
    const clock = new FakeClock();
    await using slow = await httpFixture(stubRuntime().runtime, { clock });
    const wrong = { headers: { authorization: "Bearer wrong" } };
    for (let attempt = 0; attempt < 10; attempt += 1) expect((await slow.ask("/v1/tools", wrong)).status).toBe(401);
    expect((await slow.ask("/v1/tools", wrong)).status).toBe(429);
    expect((await slow.ask("/v1/tools", { as: "agent" })).status).toBe(200);
    await clock.advance(1_000);
    expect((await slow.ask("/v1/tools", wrong)).status).toBe(401);
  });
});
