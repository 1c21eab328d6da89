/** Signing in at a real provider, on another site, by a real browser: there, its form, and back to the page one was on. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { OpenIdProvider } from "../fakes/openid-provider.ts";
import type { Person } from "./browser.ts";
import { stage } from "./stage.ts";

let provider: OpenIdProvider;
/** Not the provider's name: to a browser `localhost` and `127.0.0.1` are two sites. */
let url = "";

const { house, open } = stage({
  people: {},
  prepare: async (house) => {
    house.port = await freePort();
    url = `http://localhost:${house.port}`;
    provider = await OpenIdProvider.start(`${url}/v1/session/openid/callback`, {
      ada: { email: "ada@example.com", email_verified: true, groups: ["gatekeepers"] },
      eve: { email: "eve@evil.example", email_verified: true, groups: ["gatekeepers"] },
    });
    house.configure({ more: configuration(provider.issuer) });
    mkdirSync(join(house.folder, ".postern"), { mode: 0o700 });
    const words = [join(import.meta.dirname, "../../bin/postern.js"), "secrets", "set", "openid", "client"];
    execFileSync(process.execPath, words, { cwd: house.folder, input: "a secret of the client", stdio: "pipe" });
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
  // It asks once more whether Postern may know who it is.
  const more = page.locator("input[name=prompt][value=consent]");
  await more.waitFor({ state: "attached" });
  await page.locator("button[type=submit]").click();
}

/** Going to the provider is no fault of the page, nor is what the provider's own pages ask for. */
const problemsOf = ({ problems }: Person) => problems.filter((one) => !one.startsWith("foreign request"));

describe("signing in at an OpenID provider, in a browser", () => {
  it("leads from a link to a request through the provider back to it, and what is decided there has the person's name", async () => {
    const given = { to: "ada@example.org", subject: "openid", body: "x" };
    const id = await house.ask("send_email", given);
    await using ada = await open({}, url);
    const { page } = ada;
    await page.goto(`/approvals/${id}`);
    expect(await page.getByLabel("Password").count()).toBe(0);
    await throughProvider(page, "ada");
    await page.waitForURL(`${url}/approvals/${id}`);
    await ada.live();
    expect(page.url()).toBe(`${url}/approvals/${id}`); // nothing of the session stays in the address
    await page.getByRole("button", { name: "Approve once" }).click();
    await expect
      .poll(async () => (await house.approval(id))["decision"])
      .toMatchObject({ as: "approved", by: "ada@example.com" });
    expect(await house.call("send_email", given)).toMatchObject({ status: "ok" });
    await page.reload();
    await ada.live();
    expect(problemsOf(ada)).toEqual([]);
  });

  it("lets nobody in whom the configuration does not name, and says so on the page for signing in", async () => {
    await using eve = await open({}, url);
    await eve.page.goto("/runs");
    await throughProvider(eve.page, "eve");
    await eve.page.getByRole("alert").getByText("does not sign you in here").waitFor();
    expect(new URL(eve.page.url()).pathname).toBe("/sign-in");
    expect((await eve.context.request.get(`${url}/v1/session`)).status()).toBe(401);
    expect(problemsOf(eve)).toEqual([]);
  });
});
