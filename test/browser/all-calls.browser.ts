/** The list of all calls: found by state and argument, opened, and made again. */
import { expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ server: true });

it("all calls are searched by argument and state, opened from the address, and made again", async () => {
  await postern.call("everything__echo", { message: "backup of acme" }, { run_id: "run-one" });
  await postern.call("flaky_fetch", { number: 7 }, { run_id: "run-two" });
  await using grace = await at("/calls");
  const { page } = grace;
  const rows = page.getByRole("region", { name: "Calls, new to old" }).getByRole("link");
  await expect.poll(() => rows.count()).toBe(2);
  expect(await rows.first().innerText()).toMatch(/\d{4}, \d\d:\d\d:\d\d \S+[\s\S]*flaky_fetch[\s\S]*failed/); // with its zone
  await page.getByLabel("State").selectOption("failed");
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByLabel("State").selectOption("");
  await expect.poll(() => rows.count()).toBe(2);
  await page.getByLabel("Search calls").fill("acme");
  await expect.poll(() => rows.count()).toBe(1);
  await rows.first().click();
  await page.waitForURL(/\/calls\/call_[\w-]+\?search=acme$/);
  await page.reload();
  const open = page.getByRole("complementary", { name: "Call" });
  await open.getByRole("region", { name: "Text of the result" }).getByText("Echo: backup of acme").waitFor();
  await open.getByRole("link", { name: "run-one" }).waitFor();
  expect(await problemsOfAxe(page)).toEqual([]);
  await open.getByRole("link", { name: "Call again with these" }).click();
  await expect.poll(() => page.getByRole("textbox", { name: /^message/ }).inputValue()).toBe("backup of acme");
  await page.getByRole("button", { name: "Call it" }).click();
  await page.getByRole("link", { name: "The call", exact: true }).click();
  await open.getByText("grace", { exact: false }).first().waitFor(); // it is a call of hers
  await page.goto("/calls?search=acme");
  await expect.poll(() => rows.count()).toBe(2);
  expect(grace.problems).toEqual([]);
});

it("the list is one stop of the tab order, and the open call closes on a phone", async () => {
  await using grace = await at("/calls", "grace", { viewport: { width: 390, height: 844 } });
  const { page } = grace;
  const rows = page.getByRole("region", { name: "Calls, new to old" }).getByRole("link");
  const second = await rows.nth(1).getAttribute("href");
  await rows.first().focus();
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => page.locator(":focus").getAttribute("href")).toBe(second);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Close" }).click();
  await page.waitForURL(/\/calls$/);
  expect(await problemsOfAxe(page)).toEqual([]);
});

it("a decided request has the state of its call, and a run counts it as unknown, not as failed", async () => {
  const id = await postern.ask("long_export", {}, { run_id: "run-gone" });
  await postern.operator("POST", `/v1/approvals/${id}/approve`, {});
  postern.step(1);
  void postern.call("long_export", {}, { run_id: "run-gone" }).catch(() => undefined);
  await expect.poll(async () => (await postern.approval(id))["call_state"]).toBe("attempted");
  await postern.kill("SIGKILL");
  await postern.start();
  await using grace = await at("/approvals?state=decided");
  const { page } = grace;
  const row = page.getByRole("region", { name: /^Requests that/ }).getByRole("link", { name: /long_export/ });
  await row.getByText("unknown", { exact: true }).waitFor();
  expect(await row.innerText()).not.toMatch(/used|failed/);
  await page.goto("/runs");
  const run = page.getByRole("region", { name: "Runs" }).getByRole("link", { name: /run-gone/ });
  await run.getByText("1 unknown").waitFor();
  expect(await run.innerText()).not.toContain("failed");
  await page.goto("/calls?state=unknown");
  await page
    .getByRole("region", { name: "Calls, new to old" })
    .getByRole("link", { name: /long_export/ })
    .click();
  await page.getByRole("button", { name: "I have looked" }).waitFor();
});
