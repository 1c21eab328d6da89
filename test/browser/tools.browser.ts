import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { everyRole, type RuntimeFixture } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

/** The verdict depends on the number of rows. */
async function withArguments({ folder }: RuntimeFixture): Promise<void> {
  const file = join(folder, "postern.yaml");
  const rule = '    - { id: many-rows, effect: deny, tool: update_rows, arguments: { "$.limit": { above: 1000 } } }\n';
  writeFileSync(file, readFileSync(file, "utf8").replace("  rules:\n", `  rules:\n${rule}`));
}

const { postern, at } = setUp({ people: { grace: everyRole, vera: ["viewer"] }, prepare: withArguments, server: true });

describe("tools and health", () => {
  it("shows each tool under its server with its figures and the source of its risk", async () => {
    await postern.call("everything__echo", { message: "a" });
    await postern.call("flaky_fetch", {});
    await using grace = await at("/tools");
    await grace.page.getByRole("heading", { name: "everything", exact: true }).waitFor();
    await grace.page.getByRole("link", { name: /^flaky_fetch.*1 failed/ }).waitFor();
    await grace.page.getByRole("link", { name: /^echo/ }).click();
    await grace.page.getByText("stated in your configuration").waitFor();
    await grace.page.getByText("95 % within").waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    expect(grace.problems).toEqual([]);
  });

  it("shows the verdict on a call of each tool, and the new one after a change of autonomy", async () => {
    await using grace = await at("/tools");
    const meets = async (tool: string, verdict: string): Promise<void> => {
      await grace.page.getByLabel("Search tools").fill(tool);
      await grace.page
        .getByRole("link", { name: new RegExp(`^${tool}`) })
        .getByText(verdict, { exact: true })
        .waitFor();
    };
    await meets("clock_now", "allowed");
    await meets("send_email", "needs approval");
    await meets("update_rows", "depends");
    await postern.operator("POST", "/v1/controls/autonomy", { level: "A0" });
    await meets("clock_now", "preview");
    await postern.operator("POST", "/v1/controls/autonomy", { level: "A4" });
    await meets("clock_now", "allowed");
    expect(grace.problems).toEqual([]);
  });

  it("switches a tool off for all callers with a reason, and on again", async () => {
    await using grace = await at("/tools/clock_now");
    await grace.page.getByRole("button", { name: "Switch off: clock_now" }).click();
    const dialog = grace.page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("it is wrong");
    await dialog.getByRole("button", { name: "Switch off", exact: true }).click();
    await grace.page.getByText("It cannot be called: `clock_now` is switched off by an operator").waitFor();
    expect(await postern.call("clock_now", {})).toMatchObject({ refusal: { code: "tool_unavailable" } });
    await grace.page.getByRole("main").getByRole("button", { name: "Switch on: clock_now" }).click();
    await grace.page.getByRole("dialog").getByRole("button", { name: "Switch on", exact: true }).click();
    await grace.page.getByRole("button", { name: "Switch off: clock_now" }).waitFor();
    expect(await postern.call("clock_now", {})).toMatchObject({ status: "ok" });
  });

  it("calls a tool with a form; a call that needs approval waits for another person", async () => {
    await using grace = await at("/tools/send_email");
    await grace.page.getByRole("tab", { name: "Try it" }).click();
    await grace.page.getByLabel("to", { exact: true }).fill("ada@example.org");
    await grace.page.getByLabel("subject").fill("form");
    await grace.page.getByRole("tab", { name: "JSON" }).click();
    const raw = grace.page.getByLabel("Arguments as JSON");
    expect(JSON.parse(await raw.inputValue())).toEqual({ to: "ada@example.org", subject: "form" });
    await raw.fill('{ "to": "ada@example.org", ');
    expect(await grace.page.getByRole("button", { name: "Call it" }).isDisabled()).toBe(true);
    await raw.fill('{ "to": "ada@example.org" }');
    await grace.page.getByRole("button", { name: "Call it" }).click();
    await grace.page.getByText("arguments_invalid").waitFor();
    await raw.fill('{ "to": "ada@example.org", "subject": "form", "body": "x" }');
    await grace.page.getByRole("button", { name: "Call it" }).click();
    await grace.page.getByText("It waits for approval").waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    expect(postern.runs.some((line) => line.endsWith(" form"))).toBe(false);
  });

  it("shows a changed definition as text, and approves exactly what was shown", async () => {
    await using grace = await at("/tools");
    const digest = "d".repeat(64);
    let trusted: unknown;
    await grace.page.route("**/v1/tools/everything__echo/changes", (route) =>
      route.fulfill({
        json: {
          tool: "everything__echo",
          server: "everything",
          state: "changed",
          pinned: { definition: "a".repeat(64), body: {}, at: "2026-11-20T00:00:00.000Z" },
          offered: { definition: digest, body: {}, at: "2026-11-21T00:00:00.000Z" },
          differences: [
            { field: "description", rows: ["- Echoes", "+ Echoes <img src=x onerror=alert(1)> \u202Eevil"] },
          ],
        },
      }),
    );
    await grace.page.route("**/v1/tools/everything__echo/approve", (route) => {
      trusted = route.request().postDataJSON();
      return route.fulfill({
        status: 409,
        json: { error: { code: "definition_differs", message: "It changed again." } },
      });
    });
    await grace.page.getByRole("link", { name: /^echo/ }).click();
    await grace.page.getByRole("tab", { name: "Definition" }).click();
    await grace.page.getByText("RLO").waitFor();
    expect(await grace.page.locator("img[src=x]").count()).toBe(0);
    await grace.page.getByRole("button", { name: "Approve this definition" }).click();
    await grace.page.getByText("It changed again.").waitFor();
    expect(trusted).toEqual({ definition: digest });
  });

  it("lets a viewer look, and neither switch, approve nor call", async () => {
    await using vera = await at("/tools/send_email", "vera");
    await vera.page.getByText("stated by the tool's author").waitFor();
    expect(await vera.page.getByRole("button", { name: /Switch/ }).count()).toBe(0);
    expect(await vera.page.getByRole("tab").allTextContents()).toEqual(["About", "Schema"]);
    expect(vera.problems).toEqual([]);
  });
});
