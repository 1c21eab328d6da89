/** People sign in at servers, and at the console, while two gateways share a store. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { OpenId } from "../../../packages/postern/src/identity/openid.ts";
import { createRuntime, type Runtime, type ToolOutcome } from "../../../packages/postern/src/index.ts";
import { sealedStoreOf } from "../../../packages/postern/src/runtime/sealed-store.ts";
import { loadPg } from "../../../packages/postern/src/store/postgres/load-pg.ts";
import { GuardedServer } from "../../fakes/guarded-server.ts";
import { host, httpFixture } from "../../fakes/http-fixture.ts";
import { OpenIdProvider, signInAt } from "../../fakes/openid-provider.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { PosternProcess } from "../../fakes/postern-process.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { type Gateways, twoGateways } from "../../fakes/two-gateways.ts";

const postgres = testPostgres();
const redirectUri = "http://127.0.0.1:7420/v1/connections/callback";
const ada = { tenant: "default", user: "ada" };
const bob = { tenant: "default", user: "bob" };
const stranger = { refused: "begun in another browser, used or too old" };
let guarded: GuardedServer;
beforeAll(async () => {
  guarded = await GuardedServer.start();
});
afterAll(() => guarded[Symbol.asyncDispose]());
beforeEach(() => guarded.tell({ reset: true }));

const servers = () => ({ guarded: { url: guarded.url, oauth: {}, risk: "safe", pin: "first_seen" } }) as const;

function gateways(store: string, keyFile = join(ownFolder(), "secrets.key")): Promise<Gateways> {
  return twoGateways(store, () => ({ autonomy: "A4", servers: servers(), connections: { keyFile } }));
}

interface Begun {
  readonly back: URLSearchParams;
  readonly binder: string;
}

async function begun(at: Runtime, person: typeof ada): Promise<Begun> {
  const { url = "", binder = "" } = (await at.connections?.begin("guarded", person, { redirectUri })) ?? {};
  return { back: (await signInAt(guarded.issuer, url, person.user)).searchParams, binder };
}

async function connected(g: Gateways, person: typeof ada): Promise<void> {
  const { back, binder } = await begun(g.a, person);
  expect(await g.b.connections?.finish(back, binder)).toEqual({ server: "guarded", person });
  for (const gateway of [g.a, g.b]) {
    await expect.poll(() => isConnected(gateway, person)).toBe(true);
    await expect.poll(() => gateway.health().servers[0]?.status, { timeout: 5_000 }).toBe("connected");
  }
}

let calls = 0;
function call(at: Runtime, person: typeof ada): Promise<ToolOutcome> {
  calls += 1;
  return at.invoke({ tool: "guarded__whoami", arguments: { n: calls } }, { principal: { ...person, agent: "helper" } });
}

function isConnected(at: Runtime, person: typeof ada): boolean | undefined {
  return at.connections?.list(person)[0]?.connected;
}

/** Changes or reads the tables as who has only the database. */
async function query(store: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const { Client } = await loadPg();
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  try {
    await client.query(`set search_path to ${new URL(store).searchParams.get("schema")}`);
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describe("signing in at a server", () => {
  it("ends on the gateway that the browser comes back to, and counts on both", async () => {
    await using g = await gateways(postgres.newStore());
    await connected(g, ada);
    expect([(await call(g.a, ada)).text, (await call(g.b, ada)).text]).toEqual(["ada", "ada"]);
    expect((await guarded.tell()).registrations).toBe(1);
    expect(g.problems).toEqual([]);
  });

  it("is finished once, although the browser's answer reaches both gateways", async () => {
    await using g = await gateways(postgres.newStore());
    for (let n = 0; n < 5; n += 1) {
      const { back, binder } = await begun(g.a, ada);
      const ends = await Promise.all([g.a, g.b].map((one) => one.connections?.finish(back, binder)));
      expect(ends).toEqual(expect.arrayContaining([{ server: "guarded", person: ada }, stranger]));
      for (const one of [g.a, g.b]) expect(await one.connections?.finish(back, binder)).toEqual(stranger);
    }
  });

  it("refuses another browser on every gateway, and what is begun again", async () => {
    await using g = await gateways(postgres.newStore());
    const first = await begun(g.a, ada);
    expect(await g.b.connections?.finish(first.back, `${first.binder}x`)).toEqual(stranger);
    const other = await begun(g.a, bob);
    expect(await g.b.connections?.finish(first.back, other.binder)).toEqual(stranger);
    const second = await begun(g.b, ada);
    expect(await g.a.connections?.finish(first.back, first.binder)).toEqual(stranger);
    expect(await g.a.connections?.finish(second.back, second.binder)).toEqual({ server: "guarded", person: ada });
  });

  it("asks for the permissions that the server wanted at another gateway", async () => {
    await using g = await gateways(postgres.newStore());
    await connected(g, ada);
    const administer = (at: Runtime): Promise<ToolOutcome> =>
      at.invoke({ tool: "guarded__administer", arguments: {} }, { principal: { ...ada, agent: "helper" } });
    expect((await administer(g.a)).text).toContain("the permissions `admin`");
    const { back, binder } = await begun(g.b, ada);
    expect(await g.a.connections?.finish(back, binder)).toEqual({ server: "guarded", person: ada });
    for (const one of [g.a, g.b])
      await expect.poll(async () => (await administer(one)).text, { timeout: 10_000 }).toBe("ada");
  });

  it("is over on every gateway when it is revoked on one", async () => {
    await using g = await gateways(postgres.newStore());
    await connected(g, ada);
    await connected(g, bob);
    expect((await call(g.b, ada)).text).toBe("ada");
    expect(await g.a.connections?.revoke("guarded", ada)).toBe(true);
    await expect.poll(() => isConnected(g.b, ada)).toBe(false);
    expect((await call(g.b, ada)).refusal?.code).toBe("tool_unavailable");
    expect((await call(g.b, bob)).text).toBe("bob");
    expect(await g.b.connections?.revoke("guarded", ada)).toBe(false);
  });
});

describe("refreshing tokens", () => {
  it("refreshes once for calls on both gateways, whose tokens are good once", async () => {
    await using g = await gateways(postgres.newStore());
    await connected(g, ada);
    for (let round = 1; round <= 3; round += 1) {
      await Promise.all([call(g.a, ada), call(g.b, ada)]);
      await guarded.tell({ refuse: true });
      const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => call(n % 2 === 0 ? g.a : g.b, ada)));
      expect(outcomes.map(({ text }) => text)).toEqual(Array.from({ length: 20 }, () => "ada"));
      expect((await guarded.tell()).refreshes).toBe(round);
    }
    expect(isConnected(g.a, ada)).toBe(true);
  });

  it("masks a token that another gateway got", async () => {
    await using g = await gateways(postgres.newStore());
    await connected(g, ada);
    await call(g.a, ada);
    await guarded.tell({ refuse: true });
    await call(g.a, ada);
    const { issued } = await guarded.tell();
    expect(issued).toHaveLength(4);
    const principal = { ...ada, agent: "helper" };
    for (const token of issued)
      await expect
        .poll(async () => (await g.b.invoke({ tool: "echo", arguments: { to: token } }, { principal })).refusal?.code)
        .toBe("secret_in_arguments");
  });

  it("ends the connection on both gateways if its tokens are refused", async () => {
    await using g = await gateways(postgres.newStore());
    await connected(g, ada);
    await call(g.a, ada);
    await guarded.tell({ refuse: true, status: 400 });
    const outcomes = await Promise.all([call(g.a, ada), call(g.b, ada)]);
    expect(outcomes.map(({ refusal }) => refusal?.code)).toEqual(["tool_unavailable", "tool_unavailable"]);
    expect((await guarded.tell()).refreshes).toBe(1);
    for (const gateway of [g.a, g.b]) await expect.poll(() => isConnected(gateway, ada)).toBe(false);
    expect(await g.a.audit.query({ type: ["connection.lost"] })).toHaveLength(1);
  });

  it("goes on with another gateway if the one that refreshes is killed", async () => {
    const store = postgres.newStore();
    const keyFile = join(ownFolder(), "secrets.key");
    await using g = await gateways(store, keyFile);
    await connected(g, ada);
    await call(g.a, ada);
    await guarded.tell({ refuse: true, holds: true });
    const options = JSON.stringify({ store, autonomy: "A4", servers: servers(), connections: { keyFile } });
    const asked = JSON.stringify({ tool: "guarded__whoami", arguments: {} });
    const child = spawn(process.execPath, ["test/fakes/calling-process.ts", options, asked], { stdio: "ignore" });
    await expect.poll(async () => (await guarded.tell()).held, { timeout: 20_000, interval: 50 }).toBe(1);
    const calling = call(g.b, ada);
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    await expect.poll(async () => (await guarded.tell()).abandoned).toBe(1);
    await guarded.tell({ holds: false });
    expect((await calling).text).toBe("ada");
    expect((await guarded.tell()).refreshes).toBe(1);
  });
});

describe("what the store holds", () => {
  it("holds no token, key or verifier in plain text", async () => {
    const store = postgres.newStore();
    await using g = await gateways(store);
    await connected(g, ada);
    const { back, binder } = await begun(g.a, bob);
    await call(g.a, ada);
    const tables = await query(store, "select tablename from pg_tables where schemaname = current_schema()");
    const rows = await Promise.all(
      tables.map(({ tablename }) => query(store, `select to_jsonb(t)::text as row from "${tablename}" t`)),
    );
    const text = JSON.stringify(rows);
    expect(text).toContain("connection_sign_in");
    const { issued } = await guarded.tell();
    expect(issued).toHaveLength(2);
    const secrets = [...issued, binder, binder.split(".")[1] ?? "", back.get("state") ?? "", back.get("code") ?? ""];
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(20);
      expect(text).not.toContain(secret);
    }
  });

  it("does not use what was moved to another document", async () => {
    const store = postgres.newStore();
    const keyFile = join(ownFolder(), "secrets.key");
    {
      await using g = await gateways(store, keyFile);
      await connected(g, ada);
      await connected(g, bob);
    }
    await query(
      store,
      `update document set body = (select max(body) from document where kind = 'connection') where kind = 'connection'`,
    );
    await using g = await gateways(store, keyFile);
    const ends = [isConnected(g.a, ada), isConnected(g.a, bob)].sort();
    expect(ends).toEqual([false, true]);
    expect(g.problems.filter((problem) => problem.includes("was changed, or moved from another place"))).toHaveLength(
      2,
    );
    await connected(g, ada);
    await connected(g, bob);
    expect([(await call(g.b, ada)).text, (await call(g.b, bob)).text]).toEqual(["ada", "bob"]);
  });

  it("refuses to start with another sealing key, and without the one that is named", async () => {
    const store = postgres.newStore();
    const [first, other, missing] = [ownFolder(), ownFolder(), ownFolder()].map((at) => join(at, "secrets.key"));
    const open = (keyFile = ""): Promise<Runtime> =>
      createRuntime({ store, servers: servers(), connections: { keyFile }, log: () => undefined });
    await using _first = await open(first);
    await expect(open(missing)).rejects.toMatchObject({
      code: "secrets_key_invalid",
      message: expect.stringContaining(`into \`${missing}\``),
    });
    await (
      await createRuntime({ store: postgres.newStore(), servers: servers(), connections: { keyFile: other ?? "" } })
    ).close(0);
    await expect(open(other)).rejects.toMatchObject({
      code: "secrets_key_invalid",
      message: expect.stringContaining(`another key than the one in \`${other}\``),
    });
  });
});

describe("signing in to the console with OpenID", () => {
  const callback = "/v1/session/openid/callback";
  let provider: OpenIdProvider;
  beforeAll(async () => {
    const users = { ada: { name: "Ada", email: "ada@example.com", email_verified: true } };
    provider = await OpenIdProvider.start(`http://${host}${callback}`, users);
  });
  afterAll(() => provider[Symbol.asyncDispose]());

  function served(runtime: Runtime) {
    const openId = new OpenId(
      {
        ...{ issuer: provider.issuer, clientId: "postern", clientSecret: "a secret of the client", label: "Example" },
        ...{ scopes: ["openid", "profile", "email"], roles: {}, defaultRoles: ["viewer"], unknown: "create" },
        tenant: "default",
      },
      {
        clock: { now: () => 0, monotonic: () => 0, in: () => () => {} }, // that of the database decides
        resolve: async (text) => text,
        sealed: () => sealedStoreOf(runtime),
      },
    );
    return httpFixture(runtime, { accounts: runtime.accounts, openId });
  }

  it("ends on the gateway that the browser comes back to, once", async () => {
    await using g = await gateways(postgres.newStore());
    await using a = await served(g.a);
    await using b = await served(g.b);
    const began = await a.ask("/v1/session/openid?to=/approvals");
    const cookie = began.headers.get("set-cookie")?.split(";")[0] ?? "";
    const back = await provider.signIn(began.headers.get("location") ?? "", "ada");
    const headers = { cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    const come = (at: typeof a): Promise<Response> => at.ask(`${back.pathname}${back.search}`, { headers });
    const ends = await Promise.all([come(b), come(a)]);
    const places = ends.map((one) => one.headers.get("location")?.split("#")[0]).sort();
    expect(places).toEqual(["/approvals", "/sign-in?problem=openid_refused"]);
    expect((await come(b)).headers.get("location")).toBe("/sign-in?problem=openid_refused");
  });

  it("does not start a Postern with another sealing key", async () => {
    using cli = new PosternProcess();
    const config = join(cli.folder, "openid.yaml");
    const openid = `accounts:\n  openid: { issuer: "${provider.issuer}", client_id: postern, label: Example }\n`;
    const store = postgres.newStore();
    writeFileSync(config, `store: "${store}"\nlisten: { port: 0 }\n${openid}`);
    const [first, second] = [cli.dataFolder("first"), cli.dataFolder("second")];
    const running = [await cli.start(first, "--config", config)];
    for (const file of ["audit.key", "audit.pub"]) cpSync(join(first, file), join(second, file));
    const why = await cli.start(second, "--config", config).then(
      (started) => void running.push(started),
      (error: unknown) => error,
    );
    for (const { child, end } of running) {
      child.kill("SIGTERM");
      await end;
    }
    expect(String(why)).toContain("are sealed, and their key is not there");
  });
});
