import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import type { Person } from "./browser.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({
  people: { grace: everyRole, vera: ["viewer"] },
  server: true,
  more: "console:\n  edit_policy: true\n",
});

const editor = (person: Person) => person.page.getByLabel("The policy, as YAML");
const file = (): string => readFileSync(join(postern.folder, "postern.yaml"), "utf8");

describe("policy", () => {
  it("explains a typed call with every rule in order and the deciding line", async () => {
    await using grace = await at("/policy");
    await grace.page.getByLabel("Tool", { exact: true }).fill("send_email");
    await grace.page.getByLabel("Arguments").fill('{ "to": "a", "subject": "b", "body": "c" }');
    await grace.page.getByRole("button", { name: "Explain", exact: true }).click();
    const deciding = grace.page.getByRole("listitem").filter({ hasText: "decides" });
    await deciding.filter({ hasText: "ask-send-email" }).waitFor();
    expect(await deciding.textContent()).toMatch(/postern\.yaml:\d+/);
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    expect(grace.problems).toEqual([]);
  });

  it("keeps an edited policy while another tab or screen is shown, until it is undone", async () => {
    await using grace = await at("/policy/change");
    const { page } = grace;
    const before = await editor(grace).inputValue();
    await editor(grace).fill(`${before}\n# an hour of work`);
    await page.getByRole("tab", { name: "Effective", exact: true }).click();
    await page.getByRole("tab", { name: "Change and simulate" }).click();
    expect(await editor(grace).inputValue()).toContain("an hour of work");
    await page.getByRole("link", { name: "Runs" }).click();
    const asked = page.waitForEvent("dialog");
    await page.evaluate("setTimeout(() => location.reload())");
    await (await asked).dismiss();
    await page.getByRole("link", { name: "Policy" }).click();
    await page.getByRole("tab", { name: "Change and simulate" }).click();
    expect(await editor(grace).inputValue()).toContain("an hour of work");
    await page.getByRole("button", { name: "Undo all" }).click();
    await expect.poll(() => editor(grace).inputValue()).toBe(before);
    await page.reload();
    await editor(grace).waitFor();
    await expect.poll(() => editor(grace).inputValue()).toBe(before);
  });

  it("explains a past call that is opened from its run", async () => {
    await postern.call("everything__echo", { message: "past" }, { run_id: "run-past" });
    await using grace = await at("/runs/run-past");
    await grace.page.getByRole("button", { name: /everything__echo/ }).click();
    await grace.page.getByRole("link", { name: "Explain it by today's policy" }).click();
    await grace.page.getByText("It runs.").waitFor();
    expect(await grace.page.getByLabel("Arguments").inputValue()).toContain('"message": "past"');
  });

  it("simulates a change on recorded calls, and shows mistakes with their lines", async () => {
    await postern.call("clock_now", {});
    await using grace = await at("/policy/change");
    const text = await editor(grace).inputValue();
    await editor(grace).fill(`${text.trimEnd()}\n    - { id: no-clock, effect: deny, tool: clock_now }\n`);
    await grace.page.getByRole("button", { name: "Simulate" }).click();
    await grace.page.getByText(/1 of \d+ verdicts would change/).waitFor();
    await grace.page.getByRole("region", { name: "Verdicts that would change" }).getByText("clock_now").click();
    const decides = grace.page.getByRole("listitem").filter({ hasText: "(no-clock)" });
    // Line numbers are those of the file: of the first line, of a new last line, of a mistake.
    const first = file().split("\n").indexOf("policy:") + 1;
    const last = first + text.trimEnd().split("\n").length;
    const numbers = (await grace.page.locator("pre[aria-hidden]").innerText()).trim().split("\n");
    expect([numbers[0], numbers.at(-2)]).toEqual([String(first), String(last)]);
    await decides.getByText(`postern.yaml:${last}`).waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    await editor(grace).fill("policy:\n  ruls: []\n");
    await grace.page.getByRole("button", { name: "Simulate" }).click();
    await grace.page.getByText(`postern.yaml:${first + 1}:3 policy.ruls`).waitFor();
    expect(file()).not.toContain("no-clock");
  });

  it("saves the file, keeps the old one, and refuses to overwrite a change of another person", async () => {
    const before = file();
    await using grace = await at("/policy/change");
    await using other = await at("/policy/change");
    for (const person of [grace, other]) {
      const text = await editor(person).inputValue();
      await editor(person).fill(`${text.trimEnd()}\n    - { id: saved, effect: confirm, tool: clock_now }\n`);
      await person.page.getByRole("button", { name: "Save …" }).click();
    }
    await grace.page.getByRole("dialog").getByLabel("Reason").fill("we want to see it");
    await grace.page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await grace.page.getByText("Saved and in force").waitFor();
    expect(file()).toContain("id: saved");
    const kept = readdirSync(postern.folder).filter((name) => name.includes(".before-"));
    expect(kept.map((name) => readFileSync(join(postern.folder, name), "utf8"))).toEqual([before]);
    await other.page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
    await other.page.getByText("was changed since it was read").waitFor();
    const { events } = (await postern.operator("GET", "/v1/audit?type=operator.action.policy_saved")) as {
      events: object[];
    };
    expect(events).toMatchObject([{ data: { reason: "we want to see it" } }]);
    await grace.page.getByRole("tab", { name: "Effective", exact: true }).click();
    await grace.page
      .getByRole("row", { name: /clock_now/ })
      .getByText("needs approval", { exact: true })
      .waitFor();
  });

  it("shows the policy of an agent, and lets a viewer change nothing", async () => {
    await using vera = await at("/policy/effective", "vera");
    await vera.page
      .getByRole("row", { name: /send_email/ })
      .getByText("needs approval", { exact: true })
      .waitFor();
    expect(await problemsOfAxe(vera.page)).toEqual([]);
    await vera.page.getByRole("tab", { name: "Change and simulate" }).click();
    await editor(vera).waitFor();
    expect(await vera.page.getByRole("button", { name: /Save/ }).count()).toBe(0);
  });
});
