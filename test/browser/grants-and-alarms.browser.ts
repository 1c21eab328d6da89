/** Alarms, remembered approvals, and the controls for all agents. */
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const routes =
  "  routes: [{ name: graces, match: { tools: [send_email] }, to: { users: [grace] } }, { name: linuss, match: { tools: [post_text] }, to: { users: [linus] } }]\n";
const { postern, at } = setUp({ people: { grace: everyRole, linus: ["approver"] }, approvals: routes });

describe("for me", () => {
  it("shows only what is routed to the person", async () => {
    await postern.ask("send_email", { to: "ada@example.org", subject: "hers", body: "x" });
    const linuss = await postern.ask("post_text", { text: "his alone" });
    await using linus = await at("/approvals", "linus");
    const list = linus.page.getByRole("region", { name: "Requests that wait" });
    await list.getByRole("link", { name: /send_email/ }).waitFor();
    await linus.page.getByRole("button", { name: "For me" }).click();
    await list.getByRole("link", { name: /send_email/ }).waitFor({ state: "detached" });
    await list.getByRole("link", { name: /post_text/ }).click();
    await linus.page.waitForURL(`**/approvals/${linuss}?mine=true`);
    await linus.page.getByRole("button", { name: "For me", pressed: true }).waitFor();
    expect(await problemsOfAxe(linus.page)).toEqual([]);
    expect(linus.problems).toEqual([]);
  });
});

describe("alarms", () => {
  it("show their meaning and start, are acknowledged and resolved with a reason, and stay readable", async () => {
    for (let number = 0; number < 6; number += 1) await postern.call("flaky_fetch", { number });
    await using grace = await at("/overview");
    await grace.page.getByRole("button", { name: "Alarms: 1 open" }).click();
    const dialog = grace.page.getByRole("dialog", { name: "Alarms" });
    await dialog.getByText("failed 5 times in a row").waitFor();
    await dialog.getByText("Look at its last error under Tools").waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    await dialog.getByRole("button", { name: "Acknowledge…" }).click();
    const known = grace.page.getByRole("dialog", { name: "Acknowledge this alarm" });
    await known.getByLabel("What is done about it?").fill("the provider is told");
    await known.getByRole("button", { name: "Acknowledge", exact: true }).click();
    await dialog.getByText("acknowledged", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Resolve…" }).click();
    await grace.page
      .getByRole("dialog", { name: "Resolve this alarm" })
      .getByRole("button", { name: "Resolve", exact: true })
      .click();
    await dialog.getByText("No alarms").waitFor();
    await dialog.getByRole("button", { name: "Show 1 resolved" }).click();
    await dialog.getByText("tool_errors").click();
    await dialog.getByText("“the provider is told”").waitFor();
    await dialog.getByText("grace (session:grace)").first().waitFor();
    const { alarms } = await postern.operator("GET", "/v1/alarms");
    expect(alarms).toMatchObject([{ state: "resolved", acked: { by: "grace" }, resolved: { by: "grace" } }]);
    expect(grace.problems).toEqual([]);
  });
});

describe("the alarm of a store that is broken", () => {
  it.each([
    ["has stopped", true, "Every call is refused until the disk works again and Postern is started again."],
    ["only refused something", false, "Make room: the next call that can be written goes through"],
  ])("says what to do about one that %s", async (_, stopped, told) => {
    await using grace = await at("/overview");
    const when = new Date().toISOString();
    const alarm = {
      ...{ alarm_id: "alm_store_broken", kind: "store_broken", dedupe_key: "store_broken", state: "open" },
      ...{ severity: "critical", summary: "Nothing can be written: no space left", count: 1, data: { stopped } },
      ...{ first_seen: when, last_seen: when },
    };
    await grace.page.route("**/v1/alarms*", (route) => route.fulfill({ json: { alarms: [alarm] } }));
    await grace.page.reload();
    await grace.page.getByRole("button", { name: "Alarms: 1 open" }).click();
    const dialog = grace.page.getByRole("dialog", { name: "Alarms" });
    await dialog.getByText("Nothing can be written: no space left").waitFor();
    await dialog.getByText(told).waitFor();
    const texts = await dialog.getByText(/Every call is refused until|Make room/).count();
    expect(texts).toBe(1);
    expect(await problemsOfAxe(grace.page)).toEqual([]);
  });
});

describe("the controls for all agents", () => {
  it("stop and resume all calls, each with a reason, and every screen shows the pause", async () => {
    await using linus = await at("/runs", "linus");
    await using grace = await at("/overview");
    await grace.page.getByRole("button", { name: "Stop all calls…" }).click();
    await grace.page.getByLabel("Reason").fill("an incident");
    await grace.page.getByRole("button", { name: "Stop all calls", exact: true }).click();
    await grace.page.getByText("All calls stopped").waitFor();
    expect(await postern.call("clock_now", {})).toMatchObject({ refusal: { code: "paused" } });
    // Every person sees it on every screen, with the operator and the reason.
    const bar = linus.page.getByRole("region", { name: "Stopped" }).filter({ hasText: "an incident" });
    await bar.getByText("by grace (session:grace)").waitFor();
    for (const screen of ["Approvals", "Tools", "Policy", "Overview"]) {
      await linus.page.getByRole("navigation").getByRole("link", { name: screen }).click();
      await linus.page.getByRole("heading", { name: screen, level: 1 }).waitFor();
      await bar.waitFor();
    }
    await grace.page.getByRole("main").getByRole("button", { name: "Resume calls…" }).click();
    await grace.page.getByRole("button", { name: "Resume calls", exact: true }).click();
    await grace.page.getByText("All calls stopped").waitFor({ state: "detached" });
    await bar.waitFor({ state: "detached" });
    expect(await postern.call("clock_now", { again: true })).toMatchObject({ status: "ok" });
    const { changes } = await postern.operator("GET", "/v1/controls/history");
    expect(changes).toMatchObject([{ change: "resume" }, { change: "pause", by: "grace", reason: "an incident" }]);
  });

  it("are not offered to a person who may not use them", async () => {
    await using linus = await at("/overview", "linus");
    await linus.page.getByText("Waiting for approval").waitFor();
    expect(await linus.page.getByRole("button", { name: "Stop all calls…" }).count()).toBe(0);
    expect(await linus.page.getByRole("button", { name: "Alarms" }).count()).toBeLessThanOrEqual(1);
  });
});

describe("remembered approvals", () => {
  it("show why they do not apply when the approver may no longer decide", async () => {
    const asked = await postern.ask("edit_file", { path: "a", from: "b", to: "c" });
    await using linus = await at(`/approvals/${asked}`, "linus");
    await linus.page.getByRole("button", { name: "Remember…" }).click();
    await linus.page.getByLabel("Why is it safe not to ask?").fill("the same file");
    await linus.page.getByRole("button", { name: "Approve and remember" }).click();
    await expect.poll(async () => (await postern.approval(asked))["status"]).toBe("approved");
    await postern.operator("PATCH", "/v1/accounts/linus", { roles: ["viewer"] });
    await using grace = await at("/approvals");
    await grace.page.getByRole("button", { name: "Remembered" }).click();
    const dialog = grace.page.getByRole("dialog", { name: "Remembered approvals" });
    await dialog.getByText("It does not hold at present").waitFor();
    await dialog.getByText(/linus.* has no role that decides/).waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    await postern.operator("PATCH", "/v1/accounts/linus", { roles: ["approver"] });
  });
});
