import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";
import { OpenIdProvider } from "../../../../test/fakes/openid-provider.ts";
import type { Ended, PosternProcess } from "../../../../test/fakes/postern-process.ts";

const cli = new CommandLine();
const data = join(cli.folder, "people");
const to = ["--data", data];
const password = "correct horse battery";
const patient = { timeout: 120_000 };
let running: Awaited<ReturnType<PosternProcess["start"]>>;
let printed = "";

beforeAll(async () => {
  running = await start();
}, 60_000);
afterAll(() => {
  running.child.kill("SIGKILL");
  cli[Symbol.dispose]();
});

async function start(): Promise<Awaited<ReturnType<PosternProcess["start"]>>> {
  const started = cli.open(["start", ...to]);
  printed = "";
  await new Promise<void>((resolve, reject) => {
    started.child.stdout?.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.includes("Try next")) resolve();
    });
    void started.end.then(({ err }) => reject(new Error(err)));
  });
  return started;
}

/** With something on standard input. */
function typing(text: string, ...words: readonly string[]): Promise<Ended> {
  return cli.given(text, ...words, ...to);
}

const run = (...words: readonly string[]): Promise<Ended> => cli.run(...words, ...to);

function ask(path: string, init: RequestInit & { readonly json?: object } = {}): Promise<Response> {
  const { url }: { url: string } = JSON.parse(readFileSync(join(data, "server.json"), "utf8"));
  const { json, ...rest } = init;
  return fetch(`${url}${path}`, {
    ...rest,
    ...(json !== undefined && {
      method: "POST",
      body: JSON.stringify(json),
      headers: { "content-type": "application/json", ...rest.headers },
    }),
  });
}

async function signIn(name: string, secret = password) {
  const answered = await ask("/v1/session", { json: { name, password: secret } });
  const { csrf = "" } = (await answered.json()) as { readonly csrf?: string }; // a problem has none
  const cookie = answered.headers.get("set-cookie")?.split(";")[0] ?? "";
  return { status: answered.status, shown: { cookie, "x-postern-csrf": csrf } };
}

const statusOf = async (path: string, headers: Readonly<Record<string, string>>): Promise<number> => {
  const answered = await ask(path, { headers });
  await answered.body?.cancel();
  return answered.status;
};

describe("people at the command line", () => {
  it("the first start prints a link that signs the built-in operator in, once", patient, async () => {
    const link = new URL(/console +(http\S+)/.exec(printed)?.[1] ?? "");
    expect(link.pathname).toBe("/sign-in");
    const token = new URLSearchParams(link.hash.slice(1)).get("link") ?? "";
    const first = await ask("/v1/session/link", { json: { token } });
    expect(await first.json()).toMatchObject({ user: { name: "operator" }, signed_in: true });
    expect((await ask("/v1/session/link", { json: { token } })).status).toBe(401);
    const { out } = await run("accounts", "link", "--json");
    expect(JSON.parse(out)).toMatchObject({ url: expect.stringContaining("/sign-in#link=") });
    const alone = await cli.run("accounts", "link", "--data", cli.dataFolder("other"));
    expect([alone.code, alone.err]).toEqual([1, expect.stringMatching(/start it with `.*postern .*start`/)]);
  });

  it("are added with roles, a password comes from standard input, and they sign in", patient, async () => {
    expect((await run("accounts")).out).toContain("No accounts.");
    const added = await typing(`${password}\n`, "accounts", "add", "Ada", "--roles", "operator,approver", "--password");
    expect(added).toMatchObject({ code: 0, out: "Added ada (approver, operator; tenant default).\n" });
    expect((await signIn("ada")).status).toBe(200);
    expect((await signIn("ada", "wrong horse battery")).status).toBe(401);
    expect((await run("accounts", "list")).out).toMatch(/^ada +default +approver, operator +password/m);
    const again = await typing(password, "accounts", "add", "ada", "--password");
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining("already") });
    const short = await typing("short", "accounts", "add", "bob", "--password");
    expect(short).toMatchObject({ code: 1, err: expect.stringContaining("12 to 256") });
    expect(short.err + short.out).not.toContain("short.");
    expect((await run("accounts", "add", "bob", "--roles", "king")).code).toBe(2);
  });

  it("change at once: roles, password, and no sign-in once they are disabled", patient, async () => {
    const { shown } = await signIn("ada");
    expect(await statusOf("/v1/audit", shown)).toBe(403);
    expect((await run("accounts", "roles", "ada", "auditor")).code).toBe(0);
    expect(await statusOf("/v1/audit", shown)).toBe(200);
    await typing("another horse battery", "accounts", "set-password", "ada");
    expect(await statusOf("/v1/session", shown)).toBe(401);
    const { shown: next } = await signIn("ada", "another horse battery");
    expect((await run("accounts", "disable", "ada")).code).toBe(0);
    expect(await statusOf("/v1/session", next)).toBe(401);
    expect((await signIn("ada", "another horse battery")).status).toBe(401);
    expect((await run("accounts", "enable", "ada")).code).toBe(0);
    expect((await signIn("ada", "another horse battery")).status).toBe(200);
    expect((await run("accounts", "roles", "nobody", "viewer")).code).toBe(1);
    const nobodys = await run("accounts", "link");
    expect(nobodys).toMatchObject({
      code: 1,
      err: expect.stringMatching(/There are accounts now.*accounts link NAME`/),
    });
  });

  it("sessions and tokens survive a killed process; what was revoked stays so", patient, async () => {
    const { shown } = await signIn("ada", "another horse battery");
    const made = await run("tokens", "create", "ci", "--scopes", "mail:write", "--days", "1", "--json");
    const { token, details }: { token: string; details: { id: string } } = JSON.parse(made.out);
    const bearer = { authorization: `Bearer ${token}` };
    expect(await statusOf("/v1/tools", bearer)).toBe(200);
    expect(await statusOf("/v1/controls", bearer)).toBe(403);
    const other = await run("tokens", "create", "old", "--kind", "person", "--json");
    const old: { token: string; details: { id: string } } = JSON.parse(other.out);
    expect((await run("tokens", "revoke", old.details.id)).out).toBe(`Revoked ${old.details.id} (old).\n`);
    expect(await statusOf("/v1/tools", { authorization: `Bearer ${old.token}` })).toBe(401);
    const gone = once(running.child, "exit");
    running.child.kill("SIGKILL");
    await gone;
    running = await start();
    expect(printed).not.toContain("#link="); // a person can sign in already
    expect(await statusOf("/v1/session", shown)).toBe(200);
    expect(await statusOf("/v1/tools", bearer)).toBe(200);
    expect(await statusOf("/v1/tools", { authorization: `Bearer ${old.token}` })).toBe(401);
    expect((await run("tokens")).out).toMatch(new RegExp(`^${details.id} +ci +agent +operator +mail:write`, "m"));
  });

  it("every act is in the log, by whom, and the log is intact", patient, async () => {
    const { events }: { events: { type: string }[] } = JSON.parse(
      (await run("audit", "show", "--type", "operator.action.", "--json")).out,
    );
    const acts = new Set(events.map(({ type }) => type.replace("operator.action.", "")));
    const wanted = ["link_made", "sign_in", "sign_in_failed", "account_added", "account_roles", "password_set"];
    for (const act of [...wanted, "account_disabled", "account_enabled", "token_created", "token_revoked"])
      expect(acts, act).toContain(act);
    const plain = (await run("audit", "show", "--type", "operator.action.token_revoked")).out;
    expect(plain).toMatch(/operator \(token:operator\)/);
    expect((await run("audit", "verify")).code).toBe(0);
  });

  it("need no account for what worked without: the two tokens call and decide", patient, async () => {
    expect(await run("call", "echo", "text=a")).toMatchObject({ code: 0, out: "a\n" });
    const asked: { approval_id: string } = JSON.parse((await run("call", "send", "text=b", "--json")).out);
    expect((await run("approvals", "approve", asked.approval_id)).code).toBe(0);
  });
});

it("a configured provider and a public name are served", patient, async () => {
  await using provider = await OpenIdProvider.start("https://gate.example/v1/session/openid/callback", {});
  const folder = join(cli.folder, "elsewhere");
  mkdirSync(folder);
  const openid = { issuer: provider.issuer, client_id: "postern", label: "Example" };
  const listen = { port: 0, public_url: "https://gate.example" };
  writeFileSync(join(folder, "postern.json"), JSON.stringify({ listen, accounts: { openid } }));
  const { child } = cli.open(["start", "--json"], folder);
  try {
    const [line] = await once(createInterface({ input: child.stdout ?? process.stdin }), "line");
    const { port }: { port: number } = JSON.parse(String(line));
    const asked = (path: string, host: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        get({ port, path, host: "127.0.0.1", headers: { host } }, (answered) => resolve(answered.resume())).on(
          "error",
          reject,
        );
      });
    const there = await asked("/v1/session/openid", "gate.example");
    expect(there.statusCode).toBe(303);
    const target = new URL(there.headers.location ?? "");
    expect(target.origin).toBe(provider.issuer);
    expect(target.searchParams.get("redirect_uri")).toBe("https://gate.example/v1/session/openid/callback");
    expect(there.headers["set-cookie"]?.[0]).toMatch(/; Secure$/);
    expect((await asked("/v1/session/ways", "other.example")).statusCode).toBe(421);
  } finally {
    child.kill("SIGKILL");
  }
});
