import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { approve, armed, card, mail } from "./card.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ people: { grace: everyRole, linus: ["approver"], vera: ["viewer"] } });

describe("approving", () => {
  it("shows what would run, which rule asks and the unverified reason of the agent", async () => {
    const id = await postern.ask("send_email", mail("shown"), { reason: "the user asked for it" });
    await using grace = await at(`/approvals/${id}`);
    await grace.page.getByText("A mail to ada@example.org").first().waitFor();
    await grace.page.getByText("ask-send-email").waitFor();
    await grace.page.getByText("unverified").waitFor();
    await grace.page.getByText("the user asked for it").waitFor();
    await grace.page.locator("[data-verified=yes]").waitFor();
    await grace.page.getByRole("tab", { name: "Exact bytes" }).click();
    await grace.page.getByText('{"body":"Hello Ada","subject":"shown","to":"ada@example.org"}').waitFor();
    expect(grace.problems).toEqual([]);
  });

  it("runs the call once when approve is clicked twice", async () => {
    const given = mail("twice");
    const id = await postern.ask("send_email", given);
    await using grace = await at(`/approvals/${id}`);
    const sent: string[] = [];
    grace.page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
    await armed(grace.page);
    await approve(grace.page).dblclick();
    await grace.page.getByText("Approved: ").waitFor();
    expect(await postern.call("send_email", given)).toMatchObject({ status: "ok" });
    await postern.call("send_email", given);
    expect(postern.runs.filter((line) => line.endsWith(" twice"))).toHaveLength(1);
    expect(sent.filter((url) => url.endsWith("/approve"))).toHaveLength(1);
  });

  it("shows in a second tab that the request was decided in the first", async () => {
    const id = await postern.ask("send_email", mail("tabs"));
    await using grace = await at(`/approvals/${id}`);
    await armed(grace.page);
    const other = await grace.tab(`/approvals/${id}`);
    await approve(other).waitFor();
    await approve(grace.page).click();
    await other.getByText("approved by grace").waitFor();
    expect(await approve(other).count()).toBe(0);
  });

  it("takes one of two decisions made at once and names the first approver to the second", async () => {
    await using grace = await at("/approvals");
    await using linus = await at("/approvals", "linus");
    const id = await postern.ask("send_email", mail("race"));
    // Neither page receives the event of the other: both cards look open.
    for (const { page } of [grace, linus]) {
      await page.route("**/v1/events", (route) => route.abort());
      await card(page, id);
    }
    await linus.page.getByRole("button", { name: "Deny…" }).click();
    await Promise.all([
      approve(grace.page).click(),
      linus.page.getByRole("button", { name: "Deny", exact: true }).click(),
    ]);
    await expect.poll(async () => (await postern.approval(id))["status"]).not.toBe("pending");
    const { status } = await postern.approval(id);
    const loser = status === "approved" ? linus : grace;
    await loser.page
      .getByText(status === "approved" ? "approved by grace" : "denied by linus")
      .first()
      .waitFor();
  });

  it("decides nothing from an outdated card: 409, then the card shows what would run now", async () => {
    await using grace = await at("/approvals");
    const id = await postern.ask("update_rows", { table: "orders", set: { state: "closed" }, limit: 3 });
    let decided: number | undefined;
    grace.page.on("response", (answer) => {
      if (answer.url().endsWith("/approve")) decided = answer.status();
    });
    await grace.page.route("**/v1/events", (route) => route.abort());
    await card(grace.page, id);
    await postern.operator("POST", `/v1/approvals/${id}/modify`, {
      arguments: { table: "orders", set: { state: "closed" }, limit: 1 },
    });
    await approve(grace.page).click();
    await expect.poll(() => decided).toBe(409);
    await grace.page.getByText('"limit": 1').first().waitFor();
  });

  it("needs the tool's name typed before it approves a critical call", async () => {
    const id = await postern.ask("transfer_money", { to: "DE00", amount: 12 });
    await using grace = await at(`/approvals/${id}`);
    await armed(grace.page);
    await grace.page.keyboard.press("a");
    const dialog = grace.page.getByRole("dialog");
    await dialog.waitFor();
    const yes = dialog.getByRole("button", { name: "Approve once" });
    expect(await yes.isDisabled()).toBe(true);
    await dialog.getByRole("textbox").fill("transfer_mone");
    expect(await yes.isDisabled()).toBe(true);
    await dialog.getByRole("textbox").fill("transfer_money");
    await yes.click();
    await expect.poll(async () => (await postern.approval(id))["status"]).toBe("approved");
  });

  it("moves with j and k, approves with a, opens the deny dialog with d", async () => {
    const ids = [await postern.ask("send_email", mail("keys 1")), await postern.ask("send_email", mail("keys 2"))];
    await using grace = await at(`/approvals/${ids[0]}`);
    await armed(grace.page);
    const first = grace.page.url();
    await grace.page.keyboard.press("j");
    await expect.poll(() => grace.page.url()).not.toBe(first);
    await grace.page.keyboard.press("k");
    await expect.poll(() => grace.page.url()).toBe(first);
    await armed(grace.page);
    await grace.page.keyboard.press("a");
    await expect.poll(async () => (await postern.approval(ids[0] ?? ""))["status"]).toBe("approved");
    await card(grace.page, ids[1] ?? "");
    await grace.page.keyboard.press("d");
    await grace.page.getByRole("dialog").getByRole("textbox").fill("too early");
    await grace.page.keyboard.press("Enter");
    await expect
      .poll(async () => (await postern.approval(ids[1] ?? ""))["decision"])
      .toMatchObject({ as: "denied", reason: "too early" });
  });

  it("runs the edited arguments and keeps the requested ones", async () => {
    const given = mail("wrong subject");
    const id = await postern.ask("send_email", given);
    await using grace = await at(`/approvals/${id}`);
    await armed(grace.page);
    await grace.page.getByRole("button", { name: "Edit…" }).click();
    const dialog = grace.page.getByRole("dialog");
    await dialog.getByLabel("subject").fill("right subject");
    await dialog.getByRole("tab", { name: "Changes" }).click();
    await dialog.getByText("right subject").waitFor();
    await dialog.getByRole("button", { name: "Approve as edited" }).click();
    await grace.page.getByText("Approved as edited: ").waitFor();
    await postern.call("send_email", given);
    expect(postern.runs.filter((line) => line.includes("subject"))).toEqual(["mail ada@example.org right subject"]);
    expect(await postern.approval(id)).toMatchObject({ asked: given });
  });

  it("remembers an approval with the scope it showed, and asks no approver for the next such call", async () => {
    const id = await postern.ask("send_email", { to: "ada@example.org", subject: "weekly", body: "one" });
    await using grace = await at(`/approvals/${id}`);
    await armed(grace.page);
    await grace.page.getByRole("button", { name: "Remember…" }).click();
    const dialog = grace.page.getByRole("dialog");
    await dialog.getByLabel("for an hour").check();
    await dialog.getByRole("checkbox", { name: /^body/ }).uncheck();
    await dialog.getByText("No person is asked again for an hour when").waitFor();
    await dialog.getByLabel("Why is it safe not to ask?").fill("the weekly mail");
    await dialog.getByRole("button", { name: "Approve and remember" }).click();
    await grace.page.getByText("Approved: ").waitFor();
    expect(await postern.call("send_email", { to: "ada@example.org", subject: "weekly", body: "two" })).toMatchObject({
      status: "ok",
    });
    expect(await postern.call("send_email", { to: "bob@example.org", subject: "weekly", body: "two" })).toMatchObject({
      status: "pending",
    });
  });

  it("names the free arguments of a grant; any arguments need a confirmation of their own", async () => {
    const rows = { table: "remembered", set: { state: "closed" }, limit: 3 };
    const asked = await postern.ask("update_rows", rows);
    await using grace = await at(`/approvals/${asked}`);
    const { page } = grace;
    await armed(page);
    await page.getByRole("button", { name: "Remember…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("with the same limit, set, table, without dry").waitFor();
    await dialog.getByRole("checkbox", { name: /^limit/ }).uncheck();
    await dialog.getByText("with the same set, table, without dry, with any limit").waitFor();
    for (const name of [/^table/, /^set/]) await dialog.getByRole("checkbox", { name }).uncheck();
    await dialog.getByLabel("Why is it safe not to ask?").fill("the nightly run");
    const yes = dialog.getByRole("button", { name: "Approve and remember" });
    await dialog.getByText("with any arguments").waitFor();
    expect(await yes.isDisabled()).toBe(true);
    for (const name of [/^table/, /^set/]) await dialog.getByRole("checkbox", { name }).check();
    await dialog.getByLabel("for an hour").check();
    await yes.click();
    await page.getByText("Approved: ").waitFor();
    const { grants } = await postern.operator("GET", "/v1/grants?state=live&tool=update_rows");
    expect(grants).toMatchObject([
      {
        scope: {
          arguments: {
            "$.table": { equals: rows.table },
            "$.set": { equals: rows.set },
            "$.dry": { present: false },
          },
        },
      },
    ]);
    expect(await postern.call("update_rows", { ...rows, limit: 4 })).toMatchObject({ status: "ok" });
    const other = { ...rows, set: { state: "closed", by: "agent" } };
    expect(await postern.call("update_rows", other)).toMatchObject({ status: "pending" });

    const texts = { texts: ["one", "two"] };
    const id = await postern.ask("post_list", texts, { run_id: "run-lists" });
    await card(page, id);
    await page.getByRole("button", { name: "Remember…" }).click();
    await dialog.getByText("with the same texts").waitFor();
    await dialog.getByLabel("for an hour").check();
    await dialog.getByLabel("Why is it safe not to ask?").fill("these two");
    await yes.click();
    await expect.poll(async () => (await postern.approval(id))["status"]).toBe("approved");
    expect(await postern.call("post_list", texts)).toMatchObject({ status: "ok" });
    for (const others of [["one"], ["one", "two", "three"], ["one", "three"]])
      expect(await postern.call("post_list", { texts: others })).toMatchObject({ status: "pending" });
  });

  it("shows every row of a long table on demand, with their number", async () => {
    const texts = Array.from({ length: 300 }, (_, row) => `row ${row}`);
    await using grace = await at(`/approvals/${await postern.ask("post_list", { texts })}`);
    const { page } = grace;
    await page.getByText("200 of 300 rows are shown.").waitFor();
    const table = page.getByRole("region", { name: "What changes" });
    expect(await table.getByRole("row").count()).toBe(201);
    await page.getByRole("button", { name: "Show the other 100" }).click();
    expect(await table.getByRole("row").count()).toBe(301);
    await table.getByText("row 299", { exact: true }).waitFor();
    expect(await page.getByText("rows are shown").count()).toBe(0);
  });

  it("names invisible characters beside a field", async () => {
    const id = await postern.ask("send_email", { ...mail("plain"), to: "a\u202egro.live\u200b@x" });
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    await page.getByRole("button", { name: "Edit…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The field holds characters that cannot be seen in it").waitFor();
    await dialog.getByTitle("U+202E").waitFor();
    await dialog.getByTitle("U+200B").waitFor();
    await dialog.getByRole("tab", { name: "JSON" }).click();
    await dialog.getByTitle("U+202E").waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await dialog.getByRole("tab", { name: "Form" }).click();
    await dialog.getByLabel("to", { exact: true }).fill("ada@example.org");
    await dialog.getByText("cannot be seen").waitFor({ state: "detached" });
  });

  it("decides similar requests of one run together, with one record each", async () => {
    const run = { run_id: "run-together" };
    const ids = await Promise.all(
      [1, 2, 3].map((number) => postern.ask("edit_file", { path: `f${number}`, from: "a", to: "b" }, run)),
    );
    await using grace = await at(`/approvals/${ids[0]}`);
    await grace.page.getByText("3 similar requests").waitFor();
    await grace.page.getByRole("button", { name: "Review…" }).click();
    await grace.page.getByRole("dialog").getByRole("checkbox").last().uncheck();
    await grace.page.getByRole("button", { name: "Deny 2" }).click();
    await grace.page.getByText("2 denied.", { exact: true }).waitFor();
    const states = await Promise.all(ids.map(async (id) => (await postern.approval(id))["status"]));
    expect(states.sort()).toEqual(["denied", "denied", "pending"]);
  });

  it("shows a viewer everything and lets them decide nothing", async () => {
    const id = await postern.ask("send_email", mail("viewer"));
    await using vera = await at(`/approvals/${id}`, "vera");
    await armed(vera.page);
    await vera.page.getByText("that takes the role approver").waitFor();
    await vera.page.keyboard.press("a");
    expect(await approve(vera.page).count()).toBe(0);
    expect(await postern.approval(id)).toMatchObject({ status: "pending" });
  });

  it("puts deny next to approve on a phone, and opens the card from the list and back", async () => {
    await postern.ask("send_email", mail("phone"));
    await using grace = await at("/approvals", "grace", {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    const rows = grace.page
      .getByRole("region", { name: "Requests that wait" })
      .getByRole("link", { name: /send_email/ });
    await rows.first().tap();
    const [no, yes] = await Promise.all([
      grace.page.getByRole("button", { name: "Deny…" }).boundingBox(),
      approve(grace.page).boundingBox(),
    ]);
    expect(no?.height).toBe(yes?.height);
    expect(no?.width).toBeCloseTo(yes?.width ?? 0, 0);
    expect(no?.y).toBe(yes?.y);
    expect(no?.height).toBeGreaterThanOrEqual(44);
    await grace.page.getByRole("button", { name: "Back to the list" }).tap();
    await rows.first().waitFor();
    expect(grace.problems).toEqual([]);
  });
});
