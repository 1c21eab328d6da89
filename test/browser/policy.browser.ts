import { readdirSync, readFileSync, writeFileSync } from "node:fs";
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
const textIn = async (person: Person): Promise<string> => (await editor(person).innerText()).trimEnd();
/** As a person does: `fill` lets the browser mix its own styles into what is edited. */
async function write(person: Person, text: string): Promise<void> {
  await editor(person).press("Control+a");
  await person.page.keyboard.insertText(text);
}
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
    const before = await textIn(grace);
    await write(grace, `${before}\n# an hour of work`);
    await page.getByRole("tab", { name: "Effective", exact: true }).click();
    await page.getByRole("tab", { name: "Change and simulate" }).click();
    expect(await textIn(grace)).toContain("an hour of work");
    await page.getByRole("link", { name: "Runs" }).click();
    const asked = page.waitForEvent("dialog");
    await page.evaluate("setTimeout(() => location.reload())");
    await (await asked).dismiss();
    await page.getByRole("link", { name: "Policy" }).click();
    await page.getByRole("tab", { name: "Change and simulate" }).click();
    expect(await textIn(grace)).toContain("an hour of work");
    await page.getByRole("button", { name: "Undo all" }).click();
    await expect.poll(() => textIn(grace)).toBe(before);
    await page.reload();
    await editor(grace).waitFor();
    await expect.poll(() => textIn(grace)).toBe(before);
  });

  it("explains a past call that is opened from its run", async () => {
    await postern.call("everything__echo", { message: "past" }, { run_id: "run-past" });
    await using grace = await at("/runs/run-past");
    await grace.page.getByRole("button", { name: /everything__echo/ }).click();
    await grace.page.getByRole("link", { name: "Explain it by today's policy" }).click();
    await grace.page.getByText("It runs.").waitFor();
    expect(await grace.page.getByLabel("Arguments").inputValue()).toContain('"message": "past"');
  });

  it("simulates a change on what waits and on recorded calls, in groups, and marks mistakes in their lines", async () => {
    for (const to of ["a", "b"]) await postern.ask("send_email", { to, subject: "s", body: "b" });
    await postern.call("clock_now", {});
    await using grace = await at("/policy/change");
    const { page } = grace;
    const text = await textIn(grace);
    const rule = (tool: string): string => `\n    - { id: no-${tool}, effect: deny, tool: ${tool} }`;
    await write(grace, `${text}${rule("clock_now")}${rule("send_email")}`);
    await page.getByRole("button", { name: "Simulate" }).click();
    const waiting = page.getByRole("list", { name: "Requests that wait" });
    await waiting.getByText("2 ×").waitFor();
    await page.getByText("2 of 2 verdicts would change").waitFor();
    await waiting.getByText("send_email", { exact: true }).click();
    expect(await waiting.getByRole("link", { name: "Open the request" }).count()).toBe(1);
    await page.getByRole("list", { name: "Recorded calls" }).getByText("clock_now", { exact: true }).click();
    // Line numbers are those of the file: of the first line, of a new last line, of a mistake.
    const first = file().split("\n").indexOf("policy:") + 1;
    const last = first + text.split("\n").length;
    const numbers = await page.locator(".cm-lineNumbers .cm-gutterElement:visible").allInnerTexts();
    expect([numbers[0], numbers.at(-1)]).toEqual([String(first), String(last + 1)]);
    await page
      .getByRole("listitem")
      .filter({ hasText: "(no-clock_now)" })
      .getByText(`postern.yaml:${last}`)
      .first()
      .waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await write(
      grace,
      "policy:\n  ruls: []\n  tests: [{ name: no mails, call: { tool: send_email }, expect: DENY }]\n",
    );
    await page
      .getByRole("list", { name: "Mistakes and warnings" })
      .getByText(`Line ${first + 1}:`)
      .waitFor();
    expect(await page.locator(".cm-lintRange-error").innerText()).toBe("ruls: []");
    await write(grace, "policy:\n  tests: [{ name: no mails, call: { tool: send_email }, expect: DENY }]\n");
    await page.getByText("1 of 1 tests fail").waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await editor(grace).press("Tab");
    expect(await page.evaluate("document.activeElement?.textContent")).toContain("Simulate");
    expect(file()).not.toContain("no-clock");
    expect(grace.problems).toEqual([]);
  });

  it("says that a file which was edited by hand is not in force, and puts it in force", async () => {
    const before = file();
    await using grace = await at("/policy/change");
    const { page } = grace;
    await page.getByText("The file is in force.").waitFor();
    const text = await textIn(grace);
    const byHand = `${text}\n    - { id: by-hand, effect: deny, tool: clock_now, arguments: { $.number: { above: 5 } } }`;
    writeFileSync(
      join(postern.folder, "postern.yaml"),
      before.replace(text, () => byHand),
    );
    await page.reload();
    await page.getByText("The rule “by-hand” is added.").waitFor();
    expect(await textIn(grace)).toContain("by-hand");
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.getByRole("button", { name: "Put the file in force …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Put in force" }).click();
    await page.getByText("The file is in force.").waitFor();
    expect(await postern.call("clock_now", { number: 6 })).toMatchObject({ status: "denied" });
    await page.getByRole("tab", { name: "Effective", exact: true }).click();
    await page
      .getByRole("row", { name: /clock_now/ })
      .getByRole("button", { name: "or by its arguments" })
      .press("Enter");
    await page.getByText("(by-hand)").waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByText("(by-hand)").waitFor({ state: "hidden" });
    await page.getByRole("tab", { name: "Change and simulate" }).click();
    await page.getByText("The file is in force.").waitFor();
    writeFileSync(join(postern.folder, "postern.yaml"), before);
    await postern.operator("POST", "/v1/policy/reload", {});
    await page.getByText("The file is in force.").waitFor();
    await expect.poll(() => textIn(grace)).not.toContain("by-hand"); // the page follows what others do
    expect(grace.problems).toEqual([]);
  });

  it("saves the file, keeps the old one, and refuses to overwrite a change of another person", async () => {
    const before = file();
    await using grace = await at("/policy/change");
    await using other = await at("/policy/change");
    for (const person of [grace, other]) {
      const text = await textIn(person);
      await write(person, `${text}\n    - { id: saved, effect: confirm, tool: clock_now }\n`);
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
    await other.page.getByText("The file has changed since you began").waitFor();
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

it("reads a bar of a chart by keys and by the pointer", async () => {
  await postern.call("clock_now", {});
  await using grace = await at("/overview");
  const { page } = grace;
  const bars = page.getByRole("slider", { name: /^Calls an hour by outcome/ });
  await bars.press("ArrowLeft");
  await page.getByText(/^\w+ \d\d:00: none$/).waitFor();
  await bars.press("ArrowRight");
  expect(await bars.getAttribute("aria-valuetext")).toMatch(/^\w+ \d\d:00: ran ok \d+/);
  await bars.blur();
  const { width = 0, height = 0 } = (await bars.boundingBox()) ?? {};
  await bars.hover({ position: { x: width - 3, y: height / 2 } });
  await page.getByText(/^\w+ \d\d:00: ran ok \d+/).waitFor();
  expect(await problemsOfAxe(page)).toEqual([]);
  expect(grace.problems).toEqual([]);
});
