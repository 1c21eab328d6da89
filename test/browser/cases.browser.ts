/** Cases of approvals, through the console and over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Person } from "./browser.ts";
import { armed, mail } from "./card.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp();
let grace: Person;
beforeAll(async () => {
  grace = await at("/approvals");
});
afterAll(() => grace?.[Symbol.asyncDispose]());

const sent = (subject: string) => postern.runs.filter((line) => line === `mail ada@example.org ${subject}`).length;
const button = (name: string) => grace.page.getByRole("button", { name, exact: true });
const status = async (id: string) => (await postern.approval(id))["status"];
async function card(id: string): Promise<void> {
  await grace.page.goto(`/approvals/${id}`);
  await button("Approve once").or(grace.page.getByRole("status").getByText(/ by /)).first().waitFor();
}

describe("asking, through the browser and HTTP", () => {
  it("CONFIRM, patience suspend / a call / pending with its approval id and how to approve, persisted, on the page, gate.required in the log (case 88)", async () => {
    const outcome = await postern.call("send_email", mail("88"));
    const id = String(outcome["approval_id"]);
    expect(outcome).toMatchObject({ status: "pending", how_to_approve: "A person decides in the Postern console." });
    await card(id);
    await button("Approve once").waitFor();
    const { events } = await postern.operator("GET", "/v1/audit?type=gate.required&limit=1000");
    expect(JSON.stringify(events)).toContain(id);
  });

  it("approval row / fields / exact payload, why, risk, autonomy level, time left, trace (case 89)", async () => {
    const id = await postern.ask("send_email", mail("89"));
    const { trace_id } = await postern.approval(id);
    await card(id);
    const article = grace.page.getByRole("article");
    await grace.page.locator("[data-verified=yes]").waitFor();
    for (const text of ["ask-send-email", "Risk high, agents at autonomy A4", "Expires in"])
      await article.getByText(text).first().waitFor();
    await article.getByText("high", { exact: true }).first().waitFor();
    expect(await article.innerHTML()).toContain(String(trace_id));
  });

  it("process restarts while pending / approve on the page / the call runs once with the same payload (case 90)", async () => {
    const id = await postern.ask("send_email", mail("90"));
    await card(id);
    await postern.kill("SIGKILL");
    await postern.start();
    await grace.live();
    await button("Approve once").click();
    await grace.page.getByText("Approved: ").waitFor();
    expect(await postern.call("send_email", mail("90"))).toMatchObject({ status: "ok" });
    await postern.call("send_email", mail("90"));
    expect(sent("90")).toBe(1);
  });

  it("process restarts while pending / deny on the page / denied, the tool never ran (case 91)", async () => {
    const id = await postern.ask("send_email", mail("91"));
    await card(id);
    await postern.kill("SIGKILL");
    await postern.start();
    await grace.live();
    await button("Deny…")
      .or(grace.page.getByRole("button", { name: /^Deny…/ }))
      .first()
      .click();
    await grace.page.getByRole("dialog").getByRole("button", { name: "Deny", exact: true }).click();
    await expect.poll(() => status(id)).toBe("denied");
    expect(await postern.call("send_email", mail("91"))).toMatchObject({ status: "denied" });
    expect(sent("91")).toBe(0);
  });

  it("approve twice / the second / conflict 409 with the first approver, nothing runs again; unknown id / 404 and a page that says so (case 93)", async () => {
    const id = await postern.ask("send_email", mail("93"));
    await grace.page.route("**/v1/events", (route) => route.abort());
    await card(id);
    await postern.operator("POST", `/v1/approvals/${id}/approve`, {});
    const answered = grace.page.waitForResponse((answer) => answer.url().endsWith("/approve"));
    await button("Approve once").click();
    expect((await answered).status()).toBe(409);
    await grace.page.getByText("approved by operator").first().waitFor();
    await grace.page.unroute("**/v1/events");
    await postern.call("send_email", mail("93"));
    expect(sent("93")).toBe(1);
    await grace.page.goto("/approvals/apr_unknown");
    await grace.page.getByRole("alert").getByText("Request not found").waitFor();
  });

  it("modify without arguments / refused; approve with arguments / refused; both are still open (case 95)", async () => {
    const id = await postern.ask("send_email", mail("95"));
    await expect(postern.operator("POST", `/v1/approvals/${id}/modify`, {})).rejects.toThrow("422");
    await expect(postern.operator("POST", `/v1/approvals/${id}/approve`, { arguments: {} })).rejects.toThrow("422");
    expect(await status(id)).toBe("pending");
  });

  it("modify with arguments / the tool runs with the edited ones, the original is nowhere in the result (case 96)", async () => {
    const id = await postern.ask("send_email", mail("96 wrong"));
    await card(id);
    await grace.page.getByRole("button", { name: /^Edit…/ }).click();
    const dialog = grace.page.getByRole("dialog");
    await dialog.getByLabel("subject").fill("96 right");
    await dialog.getByRole("button", { name: "Approve as edited" }).click();
    await expect.poll(() => status(id)).toBe("approved");
    expect((await postern.approval(id))["decision"]).toMatchObject({ as: "modified", by: "grace" });
    const outcome = await postern.call("send_email", mail("96 wrong"));
    expect(outcome).toMatchObject({ status: "ok" });
    expect(JSON.stringify(outcome)).not.toContain("96 wrong");
    expect([sent("96 right"), sent("96 wrong")]).toEqual([1, 0]);
  });

  it("a caller that waits times out / pending for that caller; the request lives on, and the next send runs it once approved (case 98)", async () => {
    const waiting = { patience: "wait", approval_wait_ms: 50 };
    const outcome = await postern.call("send_email", mail("98"), waiting);
    expect(outcome["status"]).not.toBe("ok");
    const { approvals } = await postern.operator("GET", "/v1/approvals?tool=send_email&state=pending");
    const [asked, ...others] = (approvals as readonly Record<string, unknown>[]).filter((one) =>
      JSON.stringify(one["what"]).includes('"subject":"98"'),
    );
    const id = String(asked?.["approval_id"]);
    expect(others).toEqual([]);
    expect(await postern.ask("send_email", mail("98"))).toBe(id);
    await card(id);
    await button("Approve once").click();
    await expect.poll(() => status(id)).toBe("approved");
    expect(await postern.call("send_email", mail("98"))).toMatchObject({ status: "ok" });
    expect(sent("98")).toBe(1);
  });

  it("a decision on the page / in the log with approver, time, reason, risk and tool; a denial too (case 99)", async () => {
    const yes = await postern.ask("send_email", mail("99 yes"));
    await card(yes);
    await button("Approve once").click();
    await expect.poll(() => status(yes)).toBe("approved");
    const id = await postern.ask("send_email", mail("99"));
    await card(id);
    await armed(grace.page);
    await grace.page.keyboard.press("d");
    await grace.page.getByRole("dialog").getByRole("textbox").fill("not requested by the user");
    await grace.page.keyboard.press("Enter");
    await expect.poll(() => status(id)).toBe("denied");
    for (const [as, why] of [
      ["denied", "not requested by the user"],
      ["approved", yes],
    ] as const) {
      await grace.page.goto(`/audit?type=gate.${as}`);
      await grace.page
        .getByRole("link", { name: new RegExp(`send_email ${as}`) })
        .first()
        .click();
      const main = grace.page.locator("main");
      for (const text of [why, "grace", "send_email default"]) await main.getByText(text).first().waitFor();
      await main.getByText("high", { exact: true }).first().waitFor();
      await main.locator("time").first().waitFor();
    }
  });

  it("approval granted, then autonomy lowered so that the cell is BLOCK / run / refused (case 104)", async () => {
    const given = { to: "DE89", amount: 104 };
    const id = await postern.ask("transfer_money", given);
    await grace.page.goto(`/approvals/${id}`);
    await grace.page.getByRole("button", { name: "Approve…" }).click();
    await grace.page.getByRole("dialog").getByRole("textbox").fill("transfer_money");
    await grace.page.getByRole("dialog").getByRole("button", { name: "Approve once" }).click();
    await expect.poll(() => status(id)).toBe("approved");
    await autonomy("A3");
    expect(await postern.call("transfer_money", given)).toMatchObject({ status: "denied" });
    expect(postern.runs).not.toContain("money DE89 104");
    await autonomy("A4");
  });

  it("two requested, one decided / pending list / one is left, on the page and over HTTP (case 105)", async () => {
    const run = { run_id: "run-105" };
    const gone = await postern.ask("send_email", { ...mail("105 a"), to: "gone@example.org" }, run);
    const left = await postern.ask("send_email", { ...mail("105 b"), to: "left@example.org" }, run);
    await card(gone);
    const list = grace.page.getByRole("region", { name: "Requests that wait" });
    await list.getByRole("link", { name: /left@example\.org/ }).waitFor();
    await button("Approve once").click();
    await list.getByRole("link", { name: /gone@example\.org/ }).waitFor({ state: "detached" });
    const { approvals } = await postern.operator("GET", "/v1/approvals?state=pending&run_id=run-105");
    expect(approvals).toMatchObject([{ approval_id: left }]);
  });

  it("autonomy changed by the operator on the page / next call / new level; operator.action audited (case 141)", async () => {
    const held = await postern.ask("send_email", mail("141"));
    await autonomy("A0");
    expect(await postern.call("send_email", mail("141 after"))).toMatchObject({ status: "preview" });
    const { events } = await postern.operator("GET", "/v1/audit?type=operator.action.autonomy&limit=1000");
    expect((events as readonly object[]).at(-1)).toMatchObject({ decided_by: "grace" });
    const { changes } = await postern.operator("GET", "/v1/controls/history");
    expect((changes as readonly object[])[0]).toMatchObject({ by: "grace", value: "A0", reason: "as the test says" });
    await autonomy("A4");
    expect(await status(held)).toBe("pending");
  });
});

async function autonomy(level: string): Promise<void> {
  const { page } = grace;
  await page.goto("/overview");
  await page.getByRole("group", { name: "Autonomy" }).getByRole("button", { name: level }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill("as the test says");
  await page.getByRole("button", { name: `Set ${level}` }).click();
  await page.getByRole("button", { name: level, pressed: true }).waitFor();
}
