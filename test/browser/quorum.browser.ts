import { describe, expect, it } from "vitest";
import { approve, mail } from "./card.ts";
import { setUp } from "./set-up.ts";

describe("a request that needs two approvers", () => {
  const { postern, at } = setUp({
    people: { grace: ["approver"], linus: ["approver"], ada: ["approver"] },
    approvals: "  routes: [{ name: two-people, match: { tools: [send_email] }, quorum: 2 }]\n",
  });

  it("runs the held call at the second approval, each given in its own browser", async () => {
    const held = postern.call("send_email", mail("two"), { patience: "wait", approval_wait_ms: 60_000 });
    await using grace = await at("/approvals");
    await using linus = await at("/approvals", "linus");
    for (const { page } of [grace, linus]) {
      await page.getByText("0 of 2 approve").waitFor();
      await page.getByText("asks to run this; 2 people must approve.").waitFor();
    }
    await approve(grace.page).click();
    await grace.page.getByText("Your approval is counted: 1 more person must agree").waitFor();
    await linus.page.getByText("1 of 2 approve").waitFor();
    expect(postern.runs).toEqual([]);
    await grace.page.getByText("Approved by 1 of 2: 1 more person must approve.").waitFor(); // her second approval would not be a second person's
    expect(await approve(grace.page).count()).toBe(0);
    await grace.page.getByRole("button", { name: "Deny…" }).waitFor();
    await approve(linus.page).click();
    expect(await held).toMatchObject({ status: "ok" });
    expect(postern.runs).toEqual(["mail ada@example.org two"]);
    expect([...grace.problems, ...linus.problems]).toEqual([]);
  });

  it("counts approvals from zero after an edit, and says so to the other approver", async () => {
    const id = await postern.ask("send_email", mail("both"));
    await using grace = await at(`/approvals/${id}`);
    await using linus = await at(`/approvals/${id}`, "linus");
    await using ada = await at(`/approvals/${id}`, "ada");
    await approve(grace.page).click();
    await linus.page.getByText("1 of 2 approve").waitFor();
    await linus.page.getByRole("button", { name: "Edit…" }).click();
    await linus.page.getByRole("dialog").getByLabel("subject").fill("both, edited");
    await linus.page.getByRole("button", { name: "Approve as edited" }).click();
    await ada.page.getByText("This request changed while you looked at it").waitFor();
    await ada.page.getByText("1 of 2 approve").waitFor();
    const shown = ada.page.getByRole("article").getByText("both, edited");
    await expect.poll(() => shown.count()).toBeGreaterThan(1); // in the new preview and in the arguments
    await ada.page.getByText("Before the edit").click();
    await ada.page.getByText("both", { exact: true }).first().waitFor();
    await ada.page.getByRole("button", { name: "Understood" }).click();
    await approve(ada.page).click();
    await expect.poll(async () => (await postern.approval(id))["status"]).toBe("approved");
    expect([...grace.problems, ...linus.problems, ...ada.problems]).toEqual([]);
  });
});
