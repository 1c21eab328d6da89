/** Postern goes away and comes back while the page is open. */
import { describe, expect, it } from "vitest";
import { approve, mail } from "./card.ts";
import { stage } from "./stage.ts";

const { house, at } = stage();

describe("a page that is being opened", () => {
  it("shows what began to wait after it was read, and before it could hear of it", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    await page.route("**/v1/events", async (route) => {
      await isAsked;
      await route.continue();
    });
    await page.reload();
    await page.getByText("Nothing waits for you").waitFor();
    await house.ask("send_email", { ...mail("between"), to: "between@example.org" });
    asked();
    await page.getByText("A mail to between@example.org").first().waitFor();
  });
});

describe("a page that loses Postern", () => {
  it("says that it reconnects when the server is killed, and is live again with everything that waits when it is back", async () => {
    const id = await house.ask("send_email", mail("restart"));
    await using grace = await at(`/approvals/${id}`);
    await approve(grace.page).waitFor();
    await house.kill("SIGKILL");
    await grace.page.locator("[data-live=reconnecting]").waitFor();
    await grace.page.getByText("What you see may be old").waitFor();
    await approve(grace.page).click();
    await grace.page.getByText("Postern does not answer. Is it running?").waitFor();
    await house.start();
    await grace.live();
    const later = await house.ask("send_email", { ...mail("after"), to: "later@example.org" });
    await grace.page.getByText("A mail to later@example.org").first().waitFor();
    await approve(grace.page).click();
    await expect.poll(async () => (await house.approval(id))["status"]).toBe("approved");
    expect(await house.approval(later)).toMatchObject({ status: "pending" });
  });

  it("does not say that nothing waits while nobody can know it", async () => {
    for (const { approval_id } of (await house.operator("GET", "/v1/approvals?state=pending&limit=1000"))[
      "approvals"
    ] as readonly { readonly approval_id: string }[])
      await house.operator("POST", `/v1/approvals/${approval_id}/withdraw`, {});
    await using grace = await at("/approvals");
    await grace.page.getByText("Nothing waits for you").waitFor();
    await house.kill("SIGKILL");
    await grace.page.getByText("What waits now is not known").waitFor();
    expect(await grace.page.getByText("Nothing waits for you").count()).toBe(0);
    await house.start();
    await grace.page.getByText("Nothing waits for you").waitFor();
  });
});
