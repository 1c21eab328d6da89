/** Several pages of one browser share a connection, notifications and the end of the session. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { mail } from "./card.ts";
import { everyRole, password } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ people: { grace: everyRole } });

/** Hides or shows a page, as a browser does for a tab in the background. */
const hide = (page: Page) =>
  page.evaluate(`{
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
  }`);

const menu = (page: Page) => page.getByRole("button", { name: "Your account" });

describe("pages of one browser", () => {
  it("share one connection, and another page takes it over when its page is closed", async () => {
    await using grace = await at("/approvals");
    const lines: Page[] = [];
    grace.context.on("request", (request) => {
      if (request.url().endsWith("/v1/events")) lines.push(request.frame().page());
    });
    const second = await grace.tab("/approvals");
    const third = await grace.tab("/approvals");
    for (const page of [second, third]) await grace.live(page);
    await postern.ask("send_email", { ...mail("shared"), to: "shared@example.org" });
    for (const page of [grace.page, second, third])
      await page.getByText("A mail to shared@example.org").first().waitFor();
    expect(lines).toEqual([]);
    await grace.page.close();
    await expect.poll(() => lines).toHaveLength(1);
    expect([second, third]).toContain(lines[0]);
    await postern.ask("send_email", { ...mail("after"), to: "after@example.org" });
    for (const page of [second, third]) await page.getByText("A mail to after@example.org").first().waitFor();
    expect(grace.problems).toEqual([]);
  });

  it("stay connected while hidden, and notify the person of requests that they may decide", async () => {
    await using grace = await at("/approvals");
    const { page, context } = grace;
    await context.grantPermissions(["notifications"], { origin: postern.url });
    await page.evaluate(`localStorage.removeItem("postern.notices")`); // of an earlier try
    await page.clock.install();
    await page.reload();
    await grace.live();
    await page.evaluate(`{
      window.told = [];
      window.Notification = class extends Notification {
        constructor(title, options) { super(title, options); window.told.push([title, options.body]); }
      };
    }`);
    await menu(page).click();
    await page.getByRole("button", { name: "Notify me of requests" }).click();
    await page.getByRole("button", { name: "Turn notifications off" }).waitFor();
    await postern.ask("send_email", { ...mail("seen"), to: "seen@example.org" });
    await page.getByText("A mail to seen@example.org").first().waitFor();
    const before = await page.title();
    await hide(page);
    await page.clock.fastForward("10:00");
    await postern.ask("transfer_money", { to: "Ada", amount: 5 });
    const ofAda = [["A request waits for you", "transfer_money (critical), asked by local-agent"]];
    await expect.poll(() => page.evaluate("window.told")).toEqual(ofAda);
    await expect.poll(() => page.title()).not.toBe(before);
    const looking = await grace.tab("/approvals"); // another page is visible
    await grace.live(looking);
    await postern.ask("transfer_money", { to: "Bob", amount: 6 });
    await looking.getByText("Moves 6 EUR to Bob").first().waitFor();
    await expect.poll(() => page.getByText("Moves 6 EUR to Bob").count()).toBeGreaterThan(0);
    expect(await page.evaluate("window.told")).toEqual(ofAda);
    expect(grace.problems).toEqual([]);
  });

  it("show nothing after the person signs out in one of them", async () => {
    const id = await postern.ask("send_email", { ...mail("secret"), to: "secret@example.org" });
    await using grace = await at(`/approvals/${id}`);
    const second = await grace.tab("/policy/change");
    await second.getByLabel("The policy, as YAML").click();
    await second.keyboard.press("ControlOrMeta+a");
    await second.keyboard.insertText("rules: [] # half an hour of work");
    const third = await grace.tab(`/approvals/${id}`);
    await third.getByText("secret@example.org").first().waitFor();
    await menu(grace.page).click();
    await grace.page.getByRole("button", { name: "Sign out" }).click();
    for (const page of [grace.page, second, third]) {
      await page.getByLabel("Password").waitFor();
      expect(await page.getByRole("dialog").count()).toBe(0);
      expect(await page.content()).not.toMatch(/secret@example\.org|half an hour/);
    }
    expect(grace.problems).toEqual([]);
  });
});

describe("the own password", () => {
  it("is changed with the current one, and ends every session", async () => {
    await postern.account("ann", ["viewer"]);
    await using ann = await at("/approvals", "ann");
    const second = await ann.tab("/runs");
    await menu(ann.page).click();
    await ann.page.getByRole("button", { name: "Change your password…" }).click();
    const dialog = ann.page.getByRole("dialog");
    await dialog.getByLabel("Current password").fill("not this one at all");
    await dialog.getByLabel("New password").fill("another horse entirely");
    await dialog.getByRole("button", { name: "Change password" }).click();
    await dialog.getByText("The current password is not right.").waitFor();
    expect(await problemsOfAxe(ann.page)).toEqual([]);
    await dialog.getByLabel("Current password").fill(password);
    await dialog.getByRole("button", { name: "Change password" }).click();
    await second.getByLabel("Password").waitFor();
    await ann.page.getByLabel("Name").fill("ann");
    await ann.page.getByLabel("Password").fill("another horse entirely");
    await ann.page.getByRole("button", { name: "Sign in" }).click();
    await ann.live();
    expect(ann.problems).toEqual([]);
  });
});

describe("a list that could not be refreshed", () => {
  it("is read until it is fresh, with the old rows shown", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    await page.getByRole("region", { name: "Requests that wait" }).waitFor();
    let failures = 0;
    await page.route(/\/v1\/approvals\?/, (route) => {
      failures += 1;
      return failures > 3 ? route.fallback() : route.fulfill({ status: 503, json: {} });
    });
    // With so many at once, the page reads the whole list again and is busy until it has it.
    const { promise: haveCome, resolve: come } = Promise.withResolvers<void>();
    await page.route("**/busy", async (route) => {
      await haveCome;
      await route.fulfill({ status: 204 });
    });
    const isBusy = page.evaluate(`{
      const request = new XMLHttpRequest();
      request.open("GET", "/busy", false);
      request.send();
    }`);
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => postern.ask("send_email", { ...mail("many"), to: `many-${n}@example.org` })),
    );
    come();
    await isBusy;
    const all = (await postern.operator("GET", "/v1/approvals?state=pending&limit=1"))["waiting"] as object;
    const count = Object.values(all).reduce((sum: number, one: number) => sum + one, 0);
    await expect.poll(() => page.title(), { timeout: 60_000 }).toContain(`(${count})`);
    const row = page.getByRole("region", { name: "Requests that wait" }).getByRole("listitem").first();
    await expect.poll(() => row.getAttribute("aria-setsize")).toBe(String(count));
    expect(failures).toBeGreaterThan(3);
  });
});

describe("a page without a free connection", () => {
  it("says so, and reads its content again at intervals", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    await page.route("**/v1/events", (route) =>
      route.fulfill({ status: 503, json: { error: { code: "too_many_readers", message: "Too many." } } }),
    );
    await page.reload();
    await page.locator("[data-live=crowded]").waitFor();
    await postern.ask("send_email", { ...mail("crowded"), to: "crowded@example.org" });
    await page.getByLabel("Search requests").fill("crowded@example.org");
    await page.getByText("A mail to crowded@example.org").first().waitFor();
    expect(await page.getByText("Postern does not answer").count()).toBe(0);
  });
});
