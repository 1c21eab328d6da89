/** A person's connections: a sign-in at a real authorization server and back, a key, and their end. */
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { GuardedServer } from "../fakes/guarded-server.ts";
import { problemsOfAxe } from "./axe.ts";
import type { Person } from "./browser.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

let guarded: GuardedServer;
const { postern, at } = setUp({
  people: { grace: everyRole },
  prepare: async (postern) => {
    guarded = await GuardedServer.start();
    const keyed = `{ url: ${guarded.url}, headers: { X-Api-Key: "secret://person/token" } }`;
    postern.configure({ more: `servers:\n  guarded: { url: ${guarded.url}, oauth: {} }\n  keyed: ${keyed}\n` });
  },
});
afterAll(() => guarded?.[Symbol.asyncDispose]());

async function throughServer(page: Page): Promise<void> {
  await page.waitForURL(`${guarded.issuer}/**`);
  await page.locator("input[name=login]").fill("grace at the server");
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" });
  await page.locator("button[type=submit]").click();
}

/** Requests to the server's own pages are no problem of the page. */
const problemsOf = ({ problems }: Person) => problems.filter((one) => !one.startsWith("foreign request"));

describe("connections", () => {
  it("lead to the server's sign-in and back, and end when they are revoked", async () => {
    await using grace = await at("/needs");
    const { page } = grace;
    await page
      .getByRole("list", { name: /need a sign-in|needs a sign-in/ })
      .getByRole("link", { name: "guarded" })
      .click();
    await page.waitForURL("**/connections/guarded");
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await throughServer(page);
    await page.waitForURL(`${postern.url}/connections/guarded?sign_in=done`);
    await page.getByText("You are connected.").waitFor();
    await page.getByText("connected", { exact: true }).waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByText("not connected").waitFor();
    expect((await guarded.tell()).revocations).toBe(1);
    expect(problemsOf(grace)).toEqual([]);
  });

  it("take a key, which the page does not have again", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    await page.getByRole("button", { name: "Your account" }).click();
    await page.getByRole("link", { name: "Your connections" }).click();
    await page.getByLabel("Key token").fill("the key of grace");
    await page.getByRole("button", { name: "Keep" }).click();
    await page.getByText("connected", { exact: true }).waitFor();
    expect(await page.getByLabel("Key token").inputValue()).toBe("");
    expect(await problemsOfAxe(page)).toEqual([]);
    expect(problemsOf(grace)).toEqual([]);
  });
});
