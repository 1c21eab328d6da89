/** Postern stops under an open page: the page stays, and is whole again when Postern is back. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { approve, armed, mail } from "./card.ts";
import { setUp } from "./set-up.ts";

const { postern, at, open } = setUp();

const go = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name }).click();

it("a screen that was not opened before opens during an outage, and fills itself after it", async () => {
  await using grace = await open();
  const { page } = grace;
  const code = page.waitForResponse((answer) => answer.url().includes("/overview-screen"));
  const last = page.waitForResponse((answer) => answer.url().includes("/connections-screen"));
  await grace.signIn("grace");
  await Promise.all([code, last]);
  await postern.kill();
  await page.locator("[data-live=reconnecting]").waitFor();
  await go(page, "Overview");
  await page.getByRole("alert").getByText("Postern does not answer. Is it running?").first().waitFor();
  await postern.start();
  await grace.live();
  await page.getByRole("heading", { name: "Waiting for approval" }).waitFor();
  await page.getByRole("alert").first().waitFor({ state: "detached" });
  expect(grace.problems).toEqual([]);
});

it("a screen whose code does not come can be tried again", async () => {
  await using grace = await open();
  const { page } = grace;
  await page.route("**/policy-screen*", (route) => route.abort());
  await grace.signIn("grace");
  await go(page, "Policy");
  const again = page.getByRole("alert").getByRole("button", { name: "Try again" });
  await again.waitFor();
  await page.unroute("**/policy-screen*");
  await again.click();
  await page.getByRole("tab", { name: "Explain a call" }).waitFor();
  expect(grace.problems.filter((problem) => !problem.startsWith("NotLoaded"))).toEqual([]);
});

it("a card that was in the list stays during an outage, and can be decided after it", async () => {
  const ids = [await postern.ask("send_email", mail("one")), await postern.ask("send_email", mail("two"))];
  await using grace = await at(`/approvals/${ids[0]}`);
  const { page } = grace;
  await armed(page);
  await postern.kill();
  await page.locator("[data-live=reconnecting]").waitFor();
  let failed = 0;
  page.on("requestfailed", (request) => {
    if (request.url().endsWith(`/v1/approvals/${ids[1]}`)) failed += 1;
  });
  await page.keyboard.press("j");
  await expect.poll(() => page.url()).toContain(ids[1]);
  await expect.poll(() => failed).toBeGreaterThanOrEqual(4); // the page has given up reading it
  await page.getByRole("article").getByText("A mail to ada@example.org").first().waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  await postern.start();
  await grace.live();
  await armed(page);
  await approve(page).click();
  await expect.poll(async () => (await postern.approval(ids[1] ?? ""))["status"]).toBe("approved");
});
