/** Postern stops and starts again while the page is open. */
import { describe, expect, it } from "vitest";
import { approve, mail } from "./card.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp();

describe("a page that is being opened", () => {
  it("shows a request made between the first read and the first event", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    await page.route("**/v1/events", async (route) => {
      await isAsked;
      await route.continue();
    });
    await postern.call("clock_now", {}); // with no call at all, the page says how an agent is connected
    await page.reload();
    await page.getByText("Nothing waits for you").waitFor();
    await postern.ask("send_email", { ...mail("between"), to: "between@example.org" });
    asked();
    await page.getByText("A mail to between@example.org").first().waitFor();
  });
});

describe("a page that loses Postern", () => {
  it("says that it reconnects when the server is killed, then shows every waiting request", async () => {
    const id = await postern.ask("send_email", mail("restart"));
    await using grace = await at(`/approvals/${id}`);
    await approve(grace.page).waitFor();
    await postern.kill("SIGKILL");
    await grace.page.locator("[data-live=reconnecting]").waitFor();
    await grace.page.locator("p", { hasText: "What you see may be old" }).waitFor();
    await approve(grace.page).click();
    await grace.page.getByText("Postern does not answer. Is it running?").waitFor();
    await postern.start();
    await grace.live();
    const later = await postern.ask("send_email", { ...mail("after"), to: "later@example.org" });
    await grace.page.getByText("A mail to later@example.org").first().waitFor();
    await approve(grace.page).click();
    await expect.poll(async () => (await postern.approval(id))["status"]).toBe("approved");
    expect(await postern.approval(later)).toMatchObject({ status: "pending" });
  });

  it("does not say that nothing waits while that is not known", async () => {
    for (const { approval_id } of (await postern.operator("GET", "/v1/approvals?state=pending&limit=1000"))[
      "approvals"
    ] as readonly { readonly approval_id: string }[])
      await postern.operator("POST", `/v1/approvals/${approval_id}/withdraw`, {});
    await using grace = await at("/approvals");
    await grace.page.getByText("Nothing waits for you").waitFor();
    await postern.kill("SIGKILL");
    await grace.page.getByText("What waits now is not known").waitFor();
    expect(await grace.page.getByText("Nothing waits for you").count()).toBe(0);
    await postern.start();
    await grace.page.getByText("Nothing waits for you").waitFor();
  });
});
