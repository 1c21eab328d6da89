/** No press decides a request that the person has not seen. */
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { approve, armed, card, mail } from "./card.ts";
import { middle, ready, two, watched } from "./presses.ts";
import { setUp } from "./set-up.ts";
import { widths } from "./tour.ts";

const { postern, at } = setUp({
  approvals: "  routes: [{ name: short, match: { tools: [edit_file] }, ttl_seconds: 600 }]\n",
});

const status = async (id: string) => (await postern.approval(id))["status"];

describe("a card that has just appeared", () => {
  it("accepts a key as soon as it shows that it is ready", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const id = await postern.ask("send_email", mail("at once"));
    // After the card is drawn, before the page does anything else.
    await page.addInitScript(`new MutationObserver((_, seen) => {
      if (document.querySelector("[data-armed=yes]") === null) return;
      seen.disconnect();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
    }).observe(document, { subtree: true, childList: true, attributes: true })`);
    await page.goto(`/approvals/${id}`);
    await expect.poll(() => status(id), { timeout: 20_000 }).toBe("approved");
  });

  it("ignores a key pressed before it was ready, even if a busy page handles it late", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const id = await postern.ask("send_email", mail("too early"));
    await page.addInitScript(`window.early = new KeyboardEvent("keydown", { key: "a", bubbles: true })`);
    await card(page, id);
    // The page says so, and the wait begins again.
    await page.evaluate(`new Promise((told) => {
      new MutationObserver(() => document.querySelector("[data-armed=no]") !== null && told())
        .observe(document, { subtree: true, childList: true, attributes: true });
      document.body.dispatchEvent(window.early);
    })`);
    await armed(page);
    expect(await status(id)).toBe("pending");
    await postern.operator("POST", `/v1/approvals/${id}/withdraw`, {});
  });

  it("accepts no press before a second without one, says so, and then accepts one", async () => {
    const [first, second] = await two(postern, "hammered");
    await using grace = await at(`/approvals/${first}`);
    const { page } = grace;
    await ready(page);
    // Within the page: on a busy machine, presses from outside may come more than a second apart.
    await page.evaluate(`(async () => {
      for (let press = 0; press < 8; press += 1) {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
        await new Promise((next) => setTimeout(next, 250));
      }
    })()`);
    expect([await status(first), await status(second)]).toEqual(["approved", "pending"]);
    expect(await approve(page).getAttribute("aria-disabled")).toBe("true");
    await page.getByRole("status").getByText("its buttons and keys work in a second").waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await armed(page);
    expect(await approve(page).getAttribute("aria-disabled")).toBeNull();
    await page.keyboard.press("a");
    await expect.poll(() => status(second)).toBe("approved");
  });

  it("revokes nothing by a press that was meant to approve", async () => {
    const id = await postern.ask("send_email", mail("another was quicker"));
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    const settled = watched(page);
    await postern.operator("POST", `/v1/approvals/${id}/approve`, {});
    const back = page.getByRole("button", { name: "Revoke" });
    await back.waitFor();
    await back.click({ force: true });
    await settled();
    expect(await status(id)).toBe("approved");
  });
});

describe("the open card", () => {
  it("stays open when a more urgent request arrives at the top of the list", async () => {
    const seen = await postern.ask("send_email", mail("seen"));
    await using grace = await at("/approvals");
    const { page } = grace;
    await page.waitForURL(`**/approvals/${seen}`);
    await armed(page);
    await page.mouse.move(...(await middle(page)));
    const settled = watched(page);
    const urgent = await postern.ask("edit_file", { path: "/etc/passwd", from: "x", to: "y" });
    await page
      .getByRole("link", { name: /edit_file/ })
      .first()
      .waitFor();
    expect(page.url()).toContain(seen);
    await page.mouse.down();
    await page.mouse.up();
    await expect.poll(() => status(seen)).toBe("approved");
    await settled();
    expect(await status(urgent)).toBe("pending");
    await page.goBack(); // the choice took the list's place in the history
    expect(page.url()).not.toMatch(/\/approvals$/);
    await postern.operator("POST", `/v1/approvals/${urgent}/withdraw`, {});
  });

  it("opens on a phone only from the list", async () => {
    const id = await postern.ask("send_email", mail("phone"));
    await using grace = await at("/approvals", "grace", widths[1]);
    await grace.page
      .getByRole("link", { name: /send_email/ })
      .first()
      .waitFor();
    expect(new URL(grace.page.url()).pathname).toBe("/approvals");
    await postern.operator("POST", `/v1/approvals/${id}/withdraw`, {});
  });
});
