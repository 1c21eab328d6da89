/** A request that changes while an approver looks at it: a decision applies to what they saw until they acknowledge the change. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { approve, armed } from "./card.ts";
import { password } from "./console-fixture.ts";
import { pause, watched } from "./presses.ts";
import { setUp } from "./set-up.ts";
import { widths } from "./tour.ts";

const rows = { table: "orders", set: { state: "closed" }, limit: 3 };

const { postern, at } = setUp({
  people: { grace: ["approver"], linus: ["approver"] },
  approvals: "  routes: [{ name: two-people, match: { tools: [update_rows, transfer_money] }, quorum: 2 }]\n",
});

const status = async (id: string) => (await postern.approval(id))["status"];

const understood = (page: Page) => page.getByRole("button", { name: "Understood" });

describe("a request that changes while its card is open and live", () => {
  it.each(["mouse", "key"])("is not approved by the %s before what is new is understood", async (by) => {
    const id = await postern.ask("update_rows", { ...rows, table: `orders by ${by}` });
    await using grace = await at(`/approvals/${id}`);
    await using linus = await at(`/approvals/${id}`, "linus");
    const { page } = grace;
    await armed(page);
    await armed(linus.page);
    const settled = watched(page);
    await linus.page.getByRole("button", { name: "Edit…" }).click();
    const dialog = linus.page.getByRole("dialog");
    await dialog.getByLabel("limit").fill("1000");
    await dialog.getByRole("button", { name: "Approve as edited" }).click();
    await page.getByText("This request changed while you looked at it").waitFor();
    await page.getByText('+  "limit": 1000').waitFor();
    if (by === "mouse") await approve(page).click({ force: true });
    else await page.keyboard.press("a");
    await pause(page, 1_500); // and waiting alone does not arm it
    if (by === "mouse") await approve(page).click({ force: true });
    else await page.keyboard.press("a");
    await settled();
    expect(await postern.approval(id)).toMatchObject({ status: "pending", votes: [{ by: "linus" }] });
    expect(await problemsOfAxe(page)).toEqual([]);
    expect(await linus.page.getByText("This request changed").count()).toBe(0); // the person who made the edit need not acknowledge it
    await understood(page).click();
    if (by === "mouse") await approve(page).click();
    else {
      await armed(page);
      await page.keyboard.press("a");
    }
    await expect.poll(() => status(id)).toBe("approved");
    expect([...grace.problems, ...linus.problems]).toEqual([]);
  });

  it("sends the digest of the version the approver acknowledged, so the server refuses a newer one", async () => {
    const id = await postern.ask("update_rows", { ...rows, table: "between" });
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    const { shown_digest } = await postern.approval(id);
    await page.route(`**/v1/approvals/${id}/approve`, async (route) => {
      // A moment before it arrives, the arguments are others.
      await as("linus", `/v1/approvals/${id}/modify`, {
        arguments: { ...rows, table: "between", limit: 1000 },
        expected_digest: shown_digest,
      });
      await route.continue();
    });
    const [answered] = await Promise.all([
      page.waitForResponse((answer) => answer.url().endsWith("/approve")),
      approve(page).click(),
    ]);
    expect(answered.status()).toBe(409);
    expect(answered.request().postDataJSON()).toMatchObject({ expected_digest: shown_digest });
    await understood(page).waitFor();
    expect(await postern.approval(id)).toMatchObject({ status: "pending", votes: [{ by: "linus" }] });
  });

  it("blocks a batch in which one request changed, and accepts no press in its first second", async () => {
    const run = { run_id: "run-batch" };
    const ids = [
      await postern.ask("update_rows", rows, run),
      await postern.ask("update_rows", { ...rows, limit: 4 }, run),
    ];
    await using grace = await at(`/approvals/${ids[0]}`);
    const { page } = grace;
    await page.getByRole("button", { name: "Review…" }).click();
    const dialog = page.getByRole("dialog");
    const yes = dialog.getByRole("button", { name: "Approve 2, each once" });
    expect(await yes.isDisabled()).toBe(true);
    const wait = dialog.getByRole("status").getByText("work in a second");
    await wait.waitFor({ state: "attached" });
    await expect.poll(() => yes.isDisabled(), { timeout: 5_000 }).toBe(false);
    expect(await wait.count()).toBe(0);
    await as("linus", `/v1/approvals/${ids[1]}/modify`, { arguments: { ...rows, limit: 1000 } });
    await dialog.getByText("1 of these changed").waitFor();
    expect(await yes.isDisabled()).toBe(true);
    expect(await problemsOfAxe(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Show them as they are" }).click();
    await dialog.getByText("1000").waitFor();
    await yes.click();
    await expect.poll(() => status(ids[1] ?? "")).toBe("approved");
    expect(await postern.approval(ids[0] ?? "")).toMatchObject({ status: "pending", votes: [{ by: "grace" }] });
  });

  it.each(widths)("blocks an open dialog, $name, shows the change in it and keeps what was typed", async (width) => {
    const { name: _, ...options } = width;
    for (const [button, tool, given, other] of [
      [/^Edit…/, "update_rows", { ...rows, table: `edit ${width.name}` }, { limit: 2 }],
      [/^Deny…/, "update_rows", { ...rows, table: `deny ${width.name}` }, { limit: 2 }],
      // With a quorum nothing is remembered; without one an edit decides.
      [/^Approve.*…/, "transfer_money", { to: `DE ${width.name}`, amount: 1 }, { amount: 2 }],
    ] as const) {
      const id = await postern.ask(tool, given);
      await using grace = await at(`/approvals/${id}`, "grace", options);
      const { page } = grace;
      const opener = page.getByRole("button", { name: button });
      await armed(page);
      await opener.click();
      const dialog = page.getByRole("dialog");
      const yes = dialog.getByRole("button", { name: /^(Approve|Deny)/ }).last();
      if (button.source.includes("Edit")) await dialog.getByLabel("table").fill("typed");
      if (button.source.includes("Approve")) await dialog.getByRole("textbox").fill(tool);
      await expect.poll(() => yes.isDisabled(), { timeout: 5_000 }).toBe(false);
      await as("linus", `/v1/approvals/${id}/modify`, {
        arguments: { ...given, ...other },
        ...(tool === "transfer_money" && { confirmation: tool }),
      });
      await dialog.getByText("This request changed while you looked at it").waitFor();
      expect(await yes.isDisabled()).toBe(true);
      expect(await problemsOfAxe(page), button.source).toEqual([]);
      await understood(page).last().click();
      if (button.source.includes("Edit")) {
        await dialog.getByLabel("limit").and(page.locator("[value='2']")).waitFor(); // the other's edit, and what was typed
        expect(await dialog.getByLabel("table").inputValue()).toBe("typed");
      }
      expect(await yes.isDisabled()).toBe(false);
    }
  });
});

describe("a decision applies to what the approver saw", () => {
  const notice = (page: Page) => page.getByText("This request changed while you looked at it");

  it("needs no acknowledgement when another approver agreed meanwhile", async () => {
    const id = await postern.ask("update_rows", { ...rows, table: "agreed" });
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    await as("linus", `/v1/approvals/${id}/approve`, {});
    await page.getByText("1 of 2 approve").waitFor();
    expect(await notice(page).count()).toBe(0);
    expect(await page.locator("[data-armed=yes]").count()).toBe(1); // it takes a press at once
    await page.keyboard.press("a");
    await expect.poll(() => status(id)).toBe("approved");
  });

  it("compares a further change with the version acknowledged last", async () => {
    const id = await postern.ask("update_rows", { ...rows, table: "again" });
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    for (const [before, after] of [
      [3, 10],
      [10, 11],
    ]) {
      const { shown_digest: expected_digest } = await postern.approval(id);
      await as("linus", `/v1/approvals/${id}/modify`, {
        arguments: { ...rows, table: "again", limit: after },
        expected_digest,
      });
      await notice(page).waitFor();
      await page.getByText(`-  "limit": ${before}`).first().waitFor();
      await page.getByText(`+  "limit": ${after}`).first().waitFor();
      expect(await page.locator("[data-armed=yes]").count()).toBe(0);
      await understood(page).click();
      await notice(page).waitFor({ state: "detached" });
    }
    await armed(page);
  });

  it("needs no acknowledgement when the request has ended", async () => {
    const id = await postern.ask("update_rows", { ...rows, table: "over" });
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await as("linus", `/v1/approvals/${id}/modify`, { arguments: { ...rows, table: "over", limit: 10 } });
    await notice(page).waitFor();
    await as("linus", `/v1/approvals/${id}/deny`, {});
    await page.getByText("denied by linus").first().waitFor();
    expect(await notice(page).count()).toBe(0);
  });
});

const sessions = new Map<string, Promise<Readonly<Record<string, string>>>>();

async function signedIn(name: string): Promise<Readonly<Record<string, string>>> {
  const headers = { origin: postern.url, "content-type": "application/json" };
  const answer = await fetch(`${postern.url}/v1/session`, {
    method: "POST",
    headers,
    body: JSON.stringify({ name, password }),
  });
  const { csrf }: { readonly csrf: string } = JSON.parse(await answer.text());
  const cookies = answer.headers.getSetCookie().map((one) => one.split(";")[0]);
  return { ...headers, cookie: cookies.join("; "), "x-postern-csrf": csrf };
}

/** A decision made in another session. */
async function as(name: string, path: string, body: object): Promise<void> {
  const session = sessions.get(name) ?? signedIn(name);
  sessions.set(name, session);
  const said = await fetch(`${postern.url}${path}`, {
    method: "POST",
    headers: await session,
    body: JSON.stringify(body),
  });
  if (!said.ok) throw new Error(`${path}: ${said.status} ${await said.text()}`);
}
