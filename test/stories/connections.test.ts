import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import {
  createRuntime,
  type Runtime,
  type RuntimeOptions,
  type ToolOutcome,
} from "../../packages/postern/src/index.ts";
import type { ServerConfig } from "../../packages/postern/src/mcp/client/server-config.ts";
import { environmentSecrets } from "../../packages/postern/src/secrets/index.ts";
import { GuardedServer } from "../fakes/guarded-server.ts";
import { signInAt } from "../fakes/openid-provider.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { rawHttp } from "../fakes/raw-http.ts";

const redirectUri = "http://127.0.0.1:7420/v1/connections/callback";
const ada = { tenant: "default", user: "ada" };
const bob = { tenant: "default", user: "bob" };

let guarded: GuardedServer;
let runtime: Runtime;
beforeAll(async () => {
  guarded = await GuardedServer.start();
});
afterAll(() => guarded[Symbol.asyncDispose]());
beforeEach(() => guarded.tell({ reset: true }));
afterEach(() => runtime.close(0));

async function open(oauth: ServerConfig["oauth"] = {}, more: RuntimeOptions = {}): Promise<void> {
  runtime = await createRuntime({
    autonomy: "A4",
    servers: { guarded: { url: guarded.url, oauth, risk: "safe", pin: "first_seen" } },
    connections: { consoleUrl: () => "http://127.0.0.1:7420" },
    ...more,
  });
}

async function connected(person: typeof ada): Promise<void> {
  const { connections } = runtime;
  const started = await connections?.begin("guarded", person, { redirectUri });
  const back = await signInAt(guarded.issuer, started?.url ?? "", person.user);
  expect(await connections?.finish(back.searchParams, started?.binder)).toEqual({ server: "guarded", person });
  await listed();
}

/** The tools are listed by the first sign-in. */
async function listed(): Promise<void> {
  await expect.poll(() => runtime.health().servers[0]?.status).toBe("connected");
}

/** A store that lasts. Its key lies beside it. */
function ownStore(): { readonly file: string; readonly store: string; readonly folder: string } {
  const folder = ownFolder();
  const file = join(folder, "postern.db");
  return { file, store: `sqlite:${file}`, folder };
}

let calls = 0;
function call(person: typeof ada, tool = "whoami"): Promise<ToolOutcome> {
  calls += 1;
  const principal = { ...person, agent: "helper" };
  return runtime.invoke({ tool: `guarded__${tool}`, arguments: { n: calls } }, { principal });
}

function isConnected(person: typeof ada): boolean | undefined {
  return runtime.connections?.list(person)[0]?.connected;
}

const unavailable = { status: "error", refusal: { code: "tool_unavailable", retry: "later" } };

describe("signing in at a server", () => {
  it("ends a call without a sign-in as unavailable, with the address to open", async () => {
    await open();
    const outcome = await call(ada);
    expect(outcome).toMatchObject(unavailable);
    expect(outcome.text).toContain("http://127.0.0.1:7420/connections/guarded");
    await connected(ada);
    expect(await call(ada)).toMatchObject({ status: "ok", text: "ada" });
    const { refusal } = await call(bob);
    const details = { server: "guarded", sign_in_url: "http://127.0.0.1:7420/connections/guarded" };
    expect(refusal).toMatchObject({ code: "tool_unavailable", details });
  });

  it("asks nobody to approve a call whose person has not signed in", async () => {
    const servers = { guarded: { url: guarded.url, oauth: {}, risk: "high" } } as const;
    await open({}, { servers, autonomy: "A1", approvals: { patience: "suspend" } });
    await connected(ada);
    expect((await call(ada)).status).toBe("pending");
    expect(await call(bob)).toMatchObject(unavailable);
  });

  it("sends the calls of two people with a token of each, over one registered client", async () => {
    await open();
    await connected(ada);
    await connected(bob);
    const texts = await Promise.all([ada, bob, ada, bob].map(async (person) => (await call(person)).text));
    expect(texts).toEqual(["ada", "bob", "ada", "bob"]);
    const seen = await guarded.tell();
    expect(seen.registrations).toBe(1);
    const sent = seen.authorizations.filter((header) => header !== "none");
    expect(new Set(sent)).toEqual(new Set(seen.tokens.map((token) => `Bearer ${token}`)));
    expect(new Set(seen.tokens).size).toBe(2);
  });

  it("keeps the server's tools when the person that they were listed for revokes", async () => {
    await open();
    await connected(ada);
    await connected(bob);
    expect(await runtime.connections?.revoke("guarded", ada)).toBe(true);
    await listed();
    expect(await call(ada)).toMatchObject(unavailable);
    expect((await call(bob)).text).toBe("bob");
  });

  it("forgets a revoked connection here and at the authorization server", async () => {
    await open();
    await connected(ada);
    expect(await runtime.connections?.revoke("guarded", ada)).toBe(true);
    expect(isConnected(ada)).toBe(false);
    expect((await guarded.tell()).revocations).toBe(1);
    expect(await runtime.connections?.revoke("guarded", ada)).toBe(false);
    expect(await call(ada)).toMatchObject(unavailable);
  });

  it("signs in once for all people with `per: server`", async () => {
    await open({ per: "server" });
    expect(await call(bob)).toMatchObject(unavailable);
    await connected(ada);
    expect((await call(bob)).text).toBe("ada");
    expect(isConnected(bob)).toBe(true);
  });

  it("signs in without a person with client credentials", async () => {
    await open(
      { grant: "client_credentials", clientId: "machine", clientSecret: "secret://machine/client" },
      { secrets: environmentSecrets({ environment: { POSTERN_SECRET_MACHINE_CLIENT: "a secret of the machine" } }) },
    );
    await listed();
    expect((await call(ada)).text).toBe("machine");
    await guarded.tell({ refuse: true });
    expect((await call(ada)).text).toBe("machine");
    expect(runtime.connections?.list(ada)).toEqual([]);
  });

  it("uses a client that is registered by hand", async () => {
    await open(
      { clientId: "by-hand", clientSecret: "secret://guarded/client" },
      { secrets: environmentSecrets({ environment: { POSTERN_SECRET_GUARDED_CLIENT: "a secret of the client" } }) },
    );
    await connected(ada);
    expect((await call(ada)).text).toBe("ada");
    expect((await guarded.tell()).registrations).toBe(0);
  });

  it("asks for another sign-in when the server wants more permissions", async () => {
    await open();
    await connected(ada);
    const outcome = await call(ada, "administer");
    expect(outcome).toMatchObject(unavailable);
    expect(outcome.text).toContain("the permissions `admin`");
    await connected(ada);
    expect(await call(ada, "administer")).toMatchObject({ status: "ok", text: "ada" });
  });
});

describe("refreshing tokens", () => {
  it("refreshes once for many calls at the same time", async () => {
    await open();
    await connected(ada);
    await call(ada);
    await guarded.tell({ refuse: true });
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => call(ada)));
    expect(outcomes.map(({ text }) => text)).toEqual(Array.from({ length: 12 }, () => "ada"));
    expect((await guarded.tell()).refreshes).toBe(1);
  });

  it("deletes tokens that the authorization server refuses to refresh", async () => {
    await open();
    await connected(ada);
    await call(ada);
    await guarded.tell({ refuse: true, status: 400 });
    expect(await call(ada)).toMatchObject(unavailable);
    expect(isConnected(ada)).toBe(false);
    await guarded.tell({ status: null });
    expect(await call(ada)).toMatchObject(unavailable);
    await connected(ada);
    expect((await call(ada)).text).toBe("ada");
  });

  it.each([
    ["answers 503", { status: 503 }, { status: null }],
    ["answers 429", { status: 429 }, { status: null }],
    ["dies in the middle", { dies: true }, { dies: false }],
  ] as const)("keeps tokens when the authorization server %s", async (_, ill, well) => {
    await open();
    await connected(ada);
    await call(ada);
    await guarded.tell({ refuse: true, ...ill });
    const outcome = await call(ada);
    expect(outcome.refusal).toMatchObject({ code: "tool_failed", retry: "later" });
    expect(outcome.text).toContain("was not run");
    expect(isConnected(ada)).toBe(true);
    await guarded.tell(well);
    await listed();
    expect((await call(ada)).text).toBe("ada");
  });

  it("does not bring a connection back that is revoked during its refresh", async () => {
    await open();
    await connected(ada);
    await call(ada);
    await guarded.tell({ refuse: true });
    const [outcome] = await Promise.all([call(ada), runtime.connections?.revoke("guarded", ada)]);
    expect(outcome.status).toBe("error");
    expect(isConnected(ada)).toBe(false);
  });
});

describe("coming back from a sign-in", () => {
  async function begun(): Promise<{ readonly back: URLSearchParams; readonly binder: string }> {
    await open();
    const started = await runtime.connections?.begin("guarded", ada, { redirectUri });
    const { searchParams } = await signInAt(guarded.issuer, started?.url ?? "", "ada");
    return { back: searchParams, binder: started?.binder ?? "" };
  }
  const stranger = { refused: "begun in another browser, used or too old" };

  it("refuses a forged state, another browser, and what was used before", async () => {
    const { back, binder } = await begun();
    const forged = new URLSearchParams({ ...Object.fromEntries(back), state: "forged" });
    expect(await runtime.connections?.finish(forged, binder)).toEqual(stranger);
    for (const other of [undefined, "", `${binder}x`])
      expect(await runtime.connections?.finish(back, other)).toEqual(stranger);
    expect(await runtime.connections?.finish(back, binder)).toEqual({ server: "guarded", person: ada });
    expect(await runtime.connections?.finish(back, binder)).toEqual(stranger);
  });

  it("refuses the answer of another issuer", async () => {
    const { back, binder } = await begun();
    back.set("iss", "https://evil.example");
    expect(await runtime.connections?.finish(back, binder)).toMatchObject({ server: "guarded", refused: /issuer/i });
    expect(isConnected(ada)).toBe(false);
  });

  it("refuses a sign-in that the person declined, and one that began long ago", async () => {
    const clock = new FakeClock();
    await open({}, { clock });
    const first = await runtime.connections?.begin("guarded", ada, { redirectUri });
    const state = new URL(first?.url ?? "").searchParams.get("state") ?? "";
    const declined = new URLSearchParams({ state, error: "access_denied", iss: guarded.issuer });
    const { refused } = (await runtime.connections?.finish(declined, first?.binder)) ?? {};
    expect(refused).toContain("access_denied");
    const second = await runtime.connections?.begin("guarded", ada, { redirectUri });
    const back = await signInAt(guarded.issuer, second?.url ?? "", "ada");
    await clock.advance(10 * 60_000);
    expect(await runtime.connections?.finish(back.searchParams, second?.binder)).toEqual(stranger);
  });

  it("can be done again when the authorization server dies in the middle", async () => {
    const { back, binder } = await begun();
    await guarded.tell({ dies: true });
    expect(await runtime.connections?.finish(back, binder)).toMatchObject({ server: "guarded", refused: /./ });
    expect(isConnected(ada)).toBe(false);
    await guarded.tell({ dies: false });
    await connected(ada);
    expect((await call(ada)).text).toBe("ada");
  });
});

describe("what is kept", () => {
  it("seals tokens in the store, and has them after a restart", async () => {
    const { file, ...lasting } = ownStore();
    await open({}, lasting);
    await connected(ada);
    await call(ada);
    const [token = ""] = (await guarded.tell()).tokens;
    await runtime.close(0);
    const bytes = await readFile(file, "latin1");
    expect(bytes).toContain("connection_client");
    expect(bytes).not.toContain(token);
    await open({}, lasting);
    await listed();
    expect((await call(ada)).text).toBe("ada");
    expect((await guarded.tell()).registrations).toBe(1);
  });

  it("lets another person sign in after a restart, at a server that has refused nothing since", async () => {
    const { file: _, ...lasting } = ownStore();
    await open({}, lasting);
    await connected(ada);
    await runtime.close(0);
    await open({}, lasting);
    await listed();
    await connected(bob);
    expect((await call(bob)).text).toBe("bob");
  });

  it("does not use a connection at a server of another address", async () => {
    const { file: _, ...lasting } = ownStore();
    await open({}, lasting);
    await connected(ada);
    await runtime.close(0);
    const moved = { guarded: { url: guarded.url.replace("127.0.0.1", "localhost"), oauth: {} } };
    await open({}, { ...lasting, servers: moved });
    expect(isConnected(ada)).toBe(false);
  });

  it("records who connected and revoked, without a token", async () => {
    await open();
    await connected(ada);
    await call(ada);
    await runtime.connections?.revoke("guarded", ada);
    const acts = await runtime.audit.query({ type: ["connection.made", "connection.revoked"] });
    expect(acts.map(({ type, principal, outcome }) => [type, principal?.user, outcome])).toEqual([
      ["connection.made", "ada", "success"],
      ["connection.revoked", "ada", "success"],
    ]);
    for (const token of (await guarded.tell()).tokens) expect(JSON.stringify(acts)).not.toContain(token);
  });
});

describe("a key of each person", () => {
  const withKey: RuntimeOptions = { servers: {} };
  async function openKeys(): Promise<void> {
    await guarded.tell({ isOpen: true });
    const headers = { "X-Api-Key": "secret://person/token" };
    await open(undefined, { ...withKey, servers: { guarded: { url: guarded.url, headers, risk: "safe" } } });
    await listed();
  }

  it("is sent with the calls of its person only", async () => {
    await openKeys();
    expect(await call(ada)).toMatchObject(unavailable);
    await runtime.connections?.enter("guarded", ada, { token: "the key of ada" });
    await runtime.connections?.enter("guarded", bob, { token: "the key of bob" });
    expect((await call(ada)).text).toBe("[redacted]");
    expect((await call(bob)).status).toBe("ok");
    expect((await guarded.tell()).tokens).toEqual(expect.arrayContaining(["the key of ada", "the key of bob"]));
    await runtime.connections?.revoke("guarded", ada);
    expect(await call(ada)).toMatchObject(unavailable);
  });

  it("refuses a key that the server does not take, and one that cannot be masked", async () => {
    await openKeys();
    const refused = { code: "request_invalid" };
    await expect(runtime.connections?.enter("guarded", ada, { other: "123456789" })).rejects.toMatchObject(refused);
    await expect(runtime.connections?.enter("guarded", ada, { token: "123" })).rejects.toMatchObject(refused);
    await expect(runtime.connections?.enter("nowhere", ada, {})).rejects.toMatchObject({ code: "connection_unknown" });
  });
});

it.each([
  ["a program", { command: "x", oauth: {} }, "`oauth` goes with `url`"],
  ["a plain secret", { oauth: { clientId: "a", clientSecret: "plain text" } }, "`secret://guarded/client`"],
  ["no client", { oauth: { grant: "client_credentials" } }, "give `client_id` and `client_secret`"],
  ["a key in the address", { url: "http://127.0.0.1/secret://person/a" }, "goes into `headers` and `auth` only"],
] as const)("refuses a configuration with %s", async (_, config, why) => {
  await open();
  const servers = { guarded: { ...("command" in config ? {} : { url: guarded.url }), ...config } };
  await expect(createRuntime({ servers })).rejects.toThrow(why);
});

it("closing does not wait for a person's connection that is still being made", async () => {
  const isHeld = (key: unknown): boolean => key === "the key of ada";
  const { url, asked } = await rawHttp(
    ({ method, headers }) => method === "initialize" && isHeld(headers["x-api-key"]),
  );
  const headers = { "X-Api-Key": "secret://person/token" };
  const one: ServerConfig = { url, headers, risk: "safe", revision: "2025-11-25" };
  runtime = await createRuntime({
    ...{ autonomy: "A4", servers: { one } },
    connections: { consoleUrl: () => "http://127.0.0.1:7420" },
  });
  await runtime.connections?.enter("one", bob, { token: "the key of bob" }); // lists the tools
  await expect.poll(() => runtime.tools.names()).toEqual(["one__t"]);
  await runtime.connections?.enter("one", ada, { token: "the key of ada" });
  const before = asked.length;
  const calling = runtime.invoke({ tool: "one__t" }, { principal: { ...ada, agent: "helper" } });
  await expect.poll(() => asked.length).toBeGreaterThan(before);
  await runtime.close(0);
  expect((await calling).text).toContain("The connection is closed");
});
