/** What a card says beside the arguments, what a person writes to the agent, and what becomes of an approval. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { approve, armed, card, mail } from "./card.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({
  people: { grace: everyRole, linus: ["approver"], vera: ["viewer"] },
  approvals: "  routes: [{ name: two-people, match: { tools: [update_rows] }, quorum: 2 }]\n",
  more: "servers:\n  files: { command: postern-has-no-such-command }\n",
  prepare: async ({ folder }) => {
    const file = join(folder, "tools.ts");
    const tool = `export const wipe = defineTool({ name: "wipe_bucket", description: "Empties a bucket.", risk: "high",
      effects: "destructive", idempotent: false, detached: true, inputSchema: strings(["bucket"]),
      execute: ({ bucket }) => { note("wipe " + bucket); return "18204 objects"; } });\n`;
    writeFileSync(file, `${readFileSync(file, "utf8")}${tool}`);
    const config = join(folder, "postern.yaml");
    const rule = "    - { id: ask-wipe, effect: confirm, tool: wipe_bucket }\napprovals:";
    writeFileSync(config, readFileSync(config, "utf8").replace("approvals:", rule));
  },
});

it("says what the call does, in whose words, how often it was asked, and repeats it where a name is typed", async () => {
  for (const subject of ["one", "two"]) {
    const id = await postern.ask("send_email", mail(subject));
    if (subject === "one") await postern.operator("POST", `/v1/approvals/${id}/approve`, {});
  }
  const money = await postern.ask("transfer_money", { to: "DE89", amount: 1240.5 });
  await using grace = await at("/approvals");
  const { page } = grace;
  await card(page, await postern.ask("send_email", mail("three")));
  const about = page.getByRole("region", { name: "About the call" });
  await about.getByText("send_email changes or sends something: to ada@example.org, subject three.").waitFor();
  await about.getByText("In the tool’s own words: Sends a mail.").waitFor();
  await about.getByText("This agent and tool in 30 days: 3 asked, 1 approved, 0 denied.").waitFor();
  await approve(page).click();
  await card(page, await postern.ask("send_email", mail("four")));
  await about.getByText("You approved 1 today.").waitFor();
  await card(page, money);
  await about.getByText("The first request of this agent for this tool in 30 days.").waitFor();
  await page.getByRole("button", { name: "Approve…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("transfer_money changes or sends something: to DE89, amount 1240.5.").waitFor();
  await dialog.getByText("Moves 1240.5 EUR to DE89").waitFor();
  expect(await problemsOfAxe(page)).toEqual([]);
  expect(grace.problems).toEqual([]);
});

it("says that an approved call would fail while its tool is not there", async () => {
  const id = await postern.ask("post_text", { text: "hello" });
  await using grace = await at(`/approvals/${id}`);
  const page = grace.page;
  const health = await postern.operator("GET", "/v1/health");
  expect(health).toMatchObject({ servers: [{ name: "files", status: "disconnected" }] });
  // The tool is one of the server's from now on, as this page reads it.
  await page.route("**/v1/tools/post_text", async (route) => {
    const answer = await route.fetch();
    const { actions, ...tool } = await answer.json();
    await route.fulfill({ json: { ...tool, actions: actions.map((one: object) => ({ ...one, server: "files" })) } });
  });
  await page.reload();
  await page.getByText(/files has been down for .*An approved call would fail now\./).waitFor();
});

it("a comment leaves the request open, is shown to all who see it, and reaches the agent", async () => {
  const id = await postern.ask("post_text", { text: "for all" }, { run_id: "run-asked" });
  await using grace = await at(`/approvals/${id}`);
  await using vera = await at(`/approvals/${id}`, "vera");
  const { page } = grace;
  await armed(page);
  expect(await vera.page.getByRole("button", { name: "Respond…" }).count()).toBe(0);
  await page.keyboard.press("r");
  const dialog = page.getByRole("dialog", { name: "Respond to the agent" });
  await dialog.getByLabel("To the agent").fill("Which channel is it for?\nThe second line");
  expect(await problemsOfAxe(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Send" }).click();
  for (const one of [page, vera.page]) await one.getByRole("article").getByText("Which channel is it for?").waitFor();
  expect(await postern.approval(id)).toMatchObject({ status: "pending", comments: [{ by: "grace", via: /session/ }] });
  expect(await postern.call("post_text", { text: "for all" }, { run_id: "run-asked" })).toMatchObject({
    status: "pending",
    notes: [expect.stringContaining("Which channel is it for?")],
  });
  expect([...grace.problems, ...vera.problems]).toEqual([]);
});

it("says which approval of a quorum it would be, and who is missing after it", async () => {
  const id = await postern.ask("update_rows", { table: "tickets", set: { state: "closed" }, limit: 3 });
  await using grace = await at(`/approvals/${id}`);
  await using linus = await at(`/approvals/${id}`, "linus");
  await armed(grace.page);
  await grace.page.getByRole("button", { name: "Approve · 1 of 2" }).click();
  await grace.page.getByText("1 more person must approve").waitFor();
  await linus.page.getByRole("button", { name: "Approve · 2 of 2" }).waitFor();
});

it("tells what became of an approval, and takes it back only before it ran", async () => {
  const given = mail("become");
  const id = await postern.ask("send_email", given, { run_id: "run-become" });
  await using grace = await at("/approvals");
  const { page } = grace;
  const message = page.getByRole("group", { name: "Message" });
  await card(page, id);
  await approve(page).click();
  await message.getByText("Approved: send_email to ada@example.org").waitFor();
  await message.getByText("waits for its agent").waitFor();
  await message.getByRole("button", { name: "Undo" }).waitFor();
  await message.hover(); // it stays
  await postern.call("send_email", given, { run_id: "run-become" });
  await message.getByText("ran ok").waitFor();
  expect(await message.getByRole("button", { name: "Undo" }).count()).toBe(0);
  await message.getByRole("button", { name: "Dismiss" }).click();
  // It ran between the look and the press.
  const late = await postern.ask("send_email", mail("late"), { run_id: "run-become" });
  await card(page, late);
  await page.route("**/v1/approvals/*/revoke", async (route) => {
    await postern.call("send_email", mail("late"), { run_id: "run-become" });
    await route.continue();
  });
  await approve(page).click();
  await message.getByRole("button", { name: "Undo" }).click();
  await message.getByText("Too late: it has run, or runs now.").waitFor();
  expect(postern.runs).toContain("mail ada@example.org late");
  await message.getByRole("button", { name: "Dismiss" }).click();
  // A tool that runs at the approval has no way back.
  await card(page, await postern.ask("wipe_bucket", { bucket: "acme-backups" }));
  await page.getByText("wipe_bucket may delete or overwrite something: bucket acme-backups.").waitFor();
  await page.getByRole("button", { name: "Approve…" }).click();
  await page.getByRole("dialog").getByLabel("Type wipe_bucket").fill("wipe_bucket");
  await page.keyboard.press("Enter");
  await message.getByText("Approved: wipe_bucket bucket acme-backups").waitFor();
  await message.getByText("ran ok").waitFor();
  expect(await message.getByRole("button", { name: "Undo" }).count()).toBe(0);
});
