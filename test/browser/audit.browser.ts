import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { verifyExport } from "../../packages/postern/src/audit/verify.ts";
import { problemsOfAxe } from "./axe.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ people: { ada: ["auditor"], vera: ["viewer"] } });

describe("the audit explorer", () => {
  it("finds events by kind and text, and keeps the search in the address", async () => {
    await postern.call("clock_now", {});
    await postern.call("flaky_fetch", {});
    await using ada = await at("/audit");
    const rows = ada.page.getByRole("region", { name: "Events, new to old" }).getByRole("link");
    await rows.filter({ hasText: "clock_now" }).first().waitFor();
    const signedIn = rows.filter({ hasText: "operator.action.sign_in" }).first();
    await signedIn.getByText("ada", { exact: true }).waitFor(); // the person who did it, not the one they act for
    await ada.page.getByLabel("Outcome").selectOption("failure");
    await rows.filter({ hasText: "clock_now" }).first().waitFor({ state: "detached" });
    await rows.filter({ hasText: "flaky_fetch" }).first().waitFor();
    expect(new URL(ada.page.url()).searchParams.get("outcome")).toBe("failure");
    await ada.page.getByLabel("Text").fill("no such words");
    await ada.page.getByLabel("Text").press("Enter");
    await ada.page.getByText("No event matches").waitFor();
    await ada.page.getByRole("button", { name: "Clear" }).click();
    await rows.filter({ hasText: "clock_now" }).first().waitFor();
    expect(await problemsOfAxe(ada.page)).toEqual([]);
    expect(ada.problems).toEqual([]);
  });

  it("checks in the browser whether an event is in the log", async () => {
    await postern.call("clock_now", {});
    await using ada = await at("/audit/0");
    await ada.page.getByText("This browser has checked it.").waitFor();
    expect(await problemsOfAxe(ada.page)).toEqual([]);
    for (const [name, bend] of [
      ["The event's hash", (proof: Record<string, string>) => ({ ...proof, body: proof["body"]?.replace("20", "21") })],
      ["The inclusion proof", (proof: Record<string, string>) => ({ ...proof, seq: 1 })],
      [
        "The signature of the root",
        (proof: Record<string, string>) => ({
          ...proof,
          checkpoint: proof["checkpoint"]?.replace(/\n(\d+)\n/, "\n9$1\n"),
        }),
      ],
    ] as const) {
      await ada.page.route("**/v1/audit/0/proof", async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ json: bend(await answer.json()) });
      });
      await ada.page.reload();
      await ada.page.getByText("It does not match what was signed").waitFor();
      await ada.page.getByText(new RegExp(`${name}.*wrong`)).waitFor();
      await ada.page.unroute("**/v1/audit/0/proof");
    }
  });

  it("checks the whole log, and exports a file that an outsider can verify", async () => {
    await using ada = await at("/audit");
    await ada.page.getByRole("button", { name: "Check the whole log" }).click();
    await ada.page.getByText(/\d+ intact, checked/).waitFor();
    const [saved] = await Promise.all([
      ada.page.waitForEvent("download"),
      ada.page.getByRole("button", { name: "Export" }).click(),
    ]);
    const lines = readFileSync(await saved.path(), "utf8")
      .trimEnd()
      .split("\n");
    expect(await verifyExport(lines)).toMatchObject({ intact: true });
  });

  it("counts and exports what is filtered, and finds by argument the call that the log does not hold", async () => {
    await postern.call("flaky_fetch", { note: "=acme-backups" });
    await using ada = await at("/audit?tool=flaky_fetch&type=tool_call.failed");
    const { page } = ada;
    const count = page.getByText(/^\d+ match(es)?$/);
    const matching = Number.parseInt(await count.innerText(), 10);
    const rows = page.getByRole("region", { name: "Events, new to old" }).getByRole("link");
    await expect.poll(() => rows.count()).toBe(matching);
    const saved = async (format: string): Promise<readonly string[]> => {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: `Export what matches as ${format}` }).click(),
      ]);
      return readFileSync(await file.path(), "utf8")
        .trimEnd()
        .split("\n");
    };
    const events = (await saved("JSONL")).map((line) => JSON.parse(line));
    expect(events).toHaveLength(matching);
    expect(events.every(({ type, tool_name }) => type === "tool_call.failed" && tool_name === "flaky_fetch")).toBe(
      true,
    );
    expect(await saved("CSV")).toHaveLength(matching + 1);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Text").fill("acme-backups");
    await page.getByText("No event matches").waitFor();
    await page.getByText("Arguments are not in the log. Calls with these words:").waitFor();
    await page.getByRole("link", { name: /^flaky_fetch/ }).click();
    await page.getByRole("complementary", { name: "Call" }).locator("pre").getByText("=acme-backups").waitFor();
    expect(ada.problems).toEqual([]);
  });

  it("shows the last check that Postern made, and a newer one by the auditor", async () => {
    await postern.call("clock_now", {});
    await using ada = await at("/audit");
    const { page } = ada;
    const line = page.getByRole("status").filter({ has: page.getByRole("button", { name: "Check the whole log" }) });
    const found = { intact: false, events: 3, first_broken: 1, why: "its text is another than was signed" };
    await page.route("**/v1/audit/latest*", async (route) => {
      const answer = await route.fetch();
      const at = new Date(Date.now() - 60_000).toISOString();
      await route.fulfill({ json: { ...(await answer.json()), checked: { ...found, at } } });
    });
    await page.reload();
    await line.getByText("Broken at entry 1: its text is another than was signed").waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.getByRole("button", { name: "Check the whole log" }).click(); // the log is intact; the other result is the older one
    await line.getByText(/\d+ intact, checked/).waitFor();
    expect(await line.getByText("Broken").count()).toBe(0);
    await page.route("**/v1/audit/verify*", (route) => route.fulfill({ json: found }));
    await page.getByRole("button", { name: "Check the whole log" }).click();
    await line.getByText("Broken at entry 1").waitFor();
    expect(await line.getByText("intact").count()).toBe(0);
  });

  it("offers new events with a button and does not move the list", async () => {
    await using ada = await at("/audit");
    const rows = ada.page.getByRole("region", { name: "Events, new to old" }).getByRole("link");
    const first = await rows.first().textContent();
    await postern.call("clock_now", {});
    const fresh = ada.page.getByRole("button", { name: "Show new events" });
    await fresh.waitFor();
    expect(await rows.first().textContent()).toBe(first);
    await fresh.click();
    await expect.poll(() => rows.first().textContent()).not.toBe(first);
  });

  it("shows text of agents as text, with hidden characters named", async () => {
    const tool = "<img src=x onerror=alert(1)>\u202Egpj.exe";
    await postern.call(tool, {});
    await using ada = await at("/audit");
    const row = ada.page.getByRole("region", { name: "Events, new to old" }).getByText("RLO").first();
    await row.waitFor();
    await row.click();
    await ada.page.getByText("This browser has checked it.").waitFor();
    expect(await ada.page.locator("img[src=x]").count()).toBe(0);
    expect(ada.problems).toEqual([]);
  });

  it("is closed to a person who is not an auditor", async () => {
    await using vera = await at("/audit", "vera");
    await vera.page.getByText("The audit log is for auditors").waitFor();
    expect(await problemsOfAxe(vera.page)).toEqual([]);
  });
});
