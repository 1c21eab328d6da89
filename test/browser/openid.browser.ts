/** Signing in at a real provider on another site, and the way back to the first page. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { OpenIdProvider } from "../fakes/openid-provider.ts";
import type { Person } from "./browser.ts";
import { setUp } from "./set-up.ts";

let provider: OpenIdProvider;
/** Not the provider's name: to a browser `localhost` and `127.0.0.1` are two sites. */
let url = "";

const { postern, open } = setUp({
  people: {},
  prepare: async (postern) => {
    postern.port = await freePort();
    url = `http://localhost:${postern.port}`;
    provider = await OpenIdProvider.start(`${url}/v1/session/openid/callback`, {
      ada: { email: "ada@example.com", email_verified: true, groups: ["gatekeepers"] },
      eve: { email: "eve@evil.example", email_verified: true, groups: ["gatekeepers"] },
    });
    postern.configure({ more: configuration(provider.issuer) });
    mkdirSync(join(postern.folder, ".postern"), { mode: 0o700 });
    const words = [
      join(import.meta.dirname, "../../packages/postern/bin/postern.js"),
      "secrets",
      "set",
      "openid",
      "client",
    ];
    execFileSync(process.execPath, words, { cwd: postern.folder, input: "a secret of the client", stdio: "pipe" });
  },
});
afterAll(() => provider?.[Symbol.asyncDispose]());

function configuration(issuer: string): string {
  return `accounts:
  openid:
    issuer: ${issuer}
    client_id: postern
    client_secret: secret://openid/client
    label: Example
    allowed_domains: [example.com]
    roles_claim: groups
    roles: { gatekeepers: [approver] }
    unknown: create
`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("No port is free.");
  return address.port;
}

async function throughProvider(page: Page, login: string): Promise<void> {
  await page.getByRole("link", { name: "Continue with Example" }).click();
  await page.waitForURL(`${provider.issuer}/**`);
  await page.locator("input[name=login]").fill(login);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  // The provider asks for consent.
  const more = page.locator("input[name=prompt][value=consent]");
  await more.waitFor({ state: "attached" });
  await page.locator("button[type=submit]").click();
}

/** Requests to the provider and by its pages are no problem of the page. */
const problemsOf = ({ problems }: Person) => problems.filter((one) => !one.startsWith("foreign request"));

describe("signing in at an OpenID provider, in a browser", () => {
  it("returns from the provider to the linked request; the decision has the person's name", async () => {
    const given = { to: "ada@example.org", subject: "openid", body: "x" };
    const id = await postern.ask("send_email", given);
    await using ada = await open({}, url);
    const { page } = ada;
    await page.goto(`/approvals/${id}`);
    expect(await page.getByLabel("Password").count()).toBe(0);
    await throughProvider(page, "ada");
    await page.waitForURL(`${url}/approvals/${id}`);
    await ada.live();
    expect(page.url()).toBe(`${url}/approvals/${id}`); // the address holds no part of the session
    await page.getByRole("button", { name: "Approve once" }).click();
    await expect
      .poll(async () => (await postern.approval(id))["decision"])
      .toMatchObject({ as: "approved", by: "ada@example.com" });
    expect(await postern.call("send_email", given)).toMatchObject({ status: "ok" });
    await page.reload();
    await ada.live();
    expect(problemsOf(ada)).toEqual([]);
  });

  it("refuses a person whom the configuration does not name, and says so", async () => {
    await using eve = await open({}, url);
    await eve.page.goto("/runs");
    await throughProvider(eve.page, "eve");
    await eve.page.getByRole("alert").getByText("does not sign you in here").waitFor();
    expect(new URL(eve.page.url()).pathname).toBe("/sign-in");
    expect((await eve.context.request.get(`${url}/v1/session`)).status()).toBe(401);
    expect(problemsOf(eve)).toEqual([]);
  });
});
