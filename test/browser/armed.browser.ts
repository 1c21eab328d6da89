/** An inbox that cannot be tricked: no press decides what was not looked at. */
import { describe, expect, it } from "vitest";
import { stumbles } from "./axe.ts";
import { approve, armed, card, mail } from "./card.ts";
import { middle, pause, ready, two, watched } from "./presses.ts";
import { stage } from "./stage.ts";
import { widths } from "./tour.ts";

const { house, at } = stage({
  approvals: "  routes: [{ name: short, match: { tools: [edit_file] }, ttl_seconds: 600 }]\n",
});

const status = async (id: string) => (await house.approval(id))["status"];

describe("a card that has just appeared", () => {
  it("takes a key as soon as it shows that it does", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const id = await house.ask("send_email", mail("at once"));
    // Between what was drawn and anything else that the page does.
    await page.addInitScript(`new MutationObserver((_, seen) => {
      if (document.querySelector("[data-armed=yes]") === null) return;
      seen.disconnect();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
    }).observe(document, { subtree: true, childList: true, attributes: true })`);
    await page.goto(`/approvals/${id}`);
    await expect.poll(() => status(id), { timeout: 20_000 }).toBe("approved");
  });

  it("takes no key that was pressed before, however late a busy page comes to it", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const id = await house.ask("send_email", mail("too early"));
    await page.addInitScript(`window.early = new KeyboardEvent("keydown", { key: "a", bubbles: true })`);
    await card(page, id);
    // It is told so, and the card waits anew.
    await page.evaluate(`new Promise((told) => {
      new MutationObserver(() => document.querySelector("[data-armed=no]") !== null && told())
        .observe(document, { subtree: true, childList: true, attributes: true });
      document.body.dispatchEvent(window.early);
    })`);
    await armed(page);
    expect(await status(id)).toBe("pending");
    await house.operator("POST", `/v1/approvals/${id}/withdraw`, {});
  });

  it("takes no press until nobody has tried for a second, says so, and then takes one", async () => {
    const [first, second] = await two(house, "hammered");
    await using grace = await at(`/approvals/${first}`);
    const { page } = grace;
    await ready(page);
    for (let press = 0; press < 8; press += 1) {
      await page.keyboard.press("a");
      await pause(page, 250);
    }
    expect([await status(first), await status(second)]).toEqual(["approved", "pending"]);
    expect(await approve(page).getAttribute("aria-disabled")).toBe("true");
    await page.getByRole("status").getByText("its buttons and keys work in a second").waitFor();
    expect(await stumbles(page)).toEqual([]);
    await armed(page);
    expect(await approve(page).getAttribute("aria-disabled")).toBeNull();
    await page.keyboard.press("a");
    await expect.poll(() => status(second)).toBe("approved");
  });

  it("takes back nothing by a press that was meant to approve what another person had just approved", async () => {
    const id = await house.ask("send_email", mail("another was quicker"));
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    const settled = watched(page);
    await house.operator("POST", `/v1/approvals/${id}/approve`, {});
    const back = page.getByRole("button", { name: "Revoke" });
    await back.waitFor();
    await back.click({ force: true });
    await settled();
    expect(await status(id)).toBe("approved");
  });
});

describe("the open card", () => {
  it("stays when something more urgent comes, which goes to the top of the list", async () => {
    const seen = await house.ask("send_email", mail("seen"));
    await using grace = await at("/approvals");
    const { page } = grace;
    await page.waitForURL(`**/approvals/${seen}`);
    await armed(page);
    await page.mouse.move(...(await middle(page)));
    const settled = watched(page);
    const urgent = await house.ask("edit_file", { path: "/etc/passwd", from: "x", to: "y" });
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
    await house.operator("POST", `/v1/approvals/${urgent}/withdraw`, {});
  });

  it("leads on a phone from the list alone, whatever comes", async () => {
    const id = await house.ask("send_email", mail("phone"));
    await using grace = await at("/approvals", "grace", widths[1]);
    await grace.page
      .getByRole("link", { name: /send_email/ })
      .first()
      .waitFor();
    expect(new URL(grace.page.url()).pathname).toBe("/approvals");
    await house.operator("POST", `/v1/approvals/${id}/withdraw`, {});
  });
});
