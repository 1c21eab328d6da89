import { describe, expect, it } from "vitest";
import type { Person } from "./browser.ts";
import { password } from "./house.ts";
import { stage } from "./stage.ts";

const { house, at } = stage();

const kept = (person: Person, page = person.page) => page.evaluate("localStorage.getItem('postern.proof')");

describe("the page keeps the second half of its session", () => {
  it("and asks to sign in again, and says why, when that was cleared", async () => {
    await using grace = await at("/runs");
    await grace.page.evaluate("localStorage.clear()");
    await grace.page.reload();
    await grace.page.getByText("not what this page kept for it").waitFor();
    await grace.page.getByLabel("Name").fill("grace");
    await grace.page.getByLabel("Password").fill(password);
    await grace.page.getByRole("button", { name: "Sign in" }).click();
    await grace.live();
    await grace.page.getByRole("heading", { name: "Runs" }).waitFor();
    expect(await grace.page.getByText("not what this page kept for it").count()).toBe(0);
  });

  it("for all its tabs: one signs in or out, and the other with it", async () => {
    await using grace = await at("/approvals");
    const second = await grace.tab("/runs");
    await grace.live(second);
    await grace.page.getByText("Your account").click({ force: true });
    await grace.page.getByRole("button", { name: "Sign out" }).click();
    await grace.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    expect(await kept(grace)).toBeNull();
    await second.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    await grace.page.getByLabel("Name").fill("grace");
    await grace.page.getByLabel("Password").fill(password);
    await grace.page.getByRole("button", { name: "Sign in" }).click();
    await grace.live();
    await second.getByRole("dialog", { name: "Your session has ended" }).waitFor({ state: "hidden" });
    await grace.live(second);
  });

  it("takes it from an address only on the way back from a provider, and out of sight before anything else", async () => {
    await using grace = await at("/approvals");
    const own = await kept(grace);
    await grace.page.goto("about:blank");
    await grace.page.goto("/approvals#csrf=planted");
    await grace.live();
    expect(grace.page.url()).toBe(`${house.url}/approvals`);
    expect(await kept(grace)).toBe(own);
    await grace.page.evaluate("localStorage.setItem('postern.signing-in-elsewhere', String(Date.now()))");
    await grace.page.goto("about:blank");
    await grace.page.goto("/approvals#csrf=from-the-provider");
    await grace.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    expect(grace.page.url()).toBe(`${house.url}/approvals`);
    expect(await kept(grace)).toBe("from-the-provider");
  });

  it("and the cookie without it opens nothing, whoever sends it", async () => {
    await using grace = await at("/approvals");
    for (const path of ["/v1/session", "/v1/approvals", "/v1/audit", "/v1/events"])
      expect((await grace.context.request.get(path)).status(), path).toBe(401);
    expect(await grace.page.evaluate("fetch('/v1/session').then(({ status }) => status)")).toBe(401);
  });
});
