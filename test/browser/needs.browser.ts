/** What needs a person is in one place, with who may act; a server has a page; each number leads to what it counts. */
import type { Page } from "playwright-core";
import { afterAll, expect, it } from "vitest";
import { Changing } from "../fakes/changing.ts";
import { type Receiver, receiver } from "../fakes/receiver.ts";
import { problemsOfAxe } from "./axe.ts";
import { mail } from "./card.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const save = { name: "save", description: "Saves a note.", inputSchema: { type: "object" } };
const notes = new Changing(save);
const lazy = new Changing(save);
let desk: Receiver;

const { postern, at } = setUp({
  people: { grace: everyRole, vera: ["viewer"] },
  prepare: async (postern) => {
    desk = await receiver();
    desk.answers.push({ status: 410 });
    const safe = { tools: { save: { risk: "safe", effects: "write" } } };
    const servers = {
      notes: { ...notes.config(), ...safe, start_timeout_ms: 2_000 },
      lazy: { ...lazy.config(), ...safe, start: "on_demand" },
    };
    const webhook = { name: "desk", kind: "slack", url: desk.url, allow_private: true };
    const channels = { webhooks: [{ ...webhook, events: ["approval.requested"] }] };
    const lines = Object.entries({ servers, channels, memory: { enabled: true } });
    postern.configure({ more: lines.map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`).join("") });
  },
});
afterAll(async () => {
  for (const server of [notes, lazy]) server[Symbol.dispose]();
  await desk?.[Symbol.asyncDispose]();
});

const go = (page: Page) => page.getByRole("navigation", { name: "Screens" }).getByRole("link", { name: /^Needs you/ });
const kind = (page: Page, title: string | RegExp) =>
  page.locator("section").filter({ has: page.getByRole("heading", { name: title, level: 2 }) });

it("all kinds are in one place, a stuck call is two clicks away, and each can be acted on there", async () => {
  const code = 'await tools.send_email({ to: "a@example.org", subject: "s", body: "b" }); ({ sent: 1 })';
  const script = await postern.call("tool_chain", { code, language: "javascript" }, { run_id: "run-script" });
  await postern.call("write_memory", { content: "Invoices go out on the first." }, { run_id: "run-memory" });
  await postern.operator("POST", `/v1/approvals/${String(script["approval_id"])}/approve`, {});
  await postern.ask("send_email", mail("waits"));
  notes.hold(true);
  const lost = postern.call("notes__save", { note: "the last words" }, { run_id: "run-lost" });
  await expect.poll(async () => (await postern.operator("GET", "/v1/calls?run_id=run-lost"))["calls"]).toHaveLength(1);
  notes.die();
  await lost;

  await using grace = await at("/overview");
  const { page } = grace;
  await expect.poll(() => go(page).innerText()).toMatch(/6/);
  await page.getByText("Notifications of desk fail").waitFor();
  await go(page).click();
  for (const title of ["1 request waits", "1 script can go on", "1 memory to accept", "1 server is down"])
    await kind(page, title).getByText("You may act, and others with the role").waitFor();
  await kind(page, "1 request waits").getByRole("link", { name: "high 1" }).waitFor();
  expect(await problemsOfAxe(page)).toEqual([]);
  await kind(page, "1 call has an unknown outcome").getByRole("link", { name: "notes__save" }).click();
  await page.getByText("It may have happened or not").waitFor();
  await page.locator("pre").getByText("the last words").waitFor();

  await page.goBack();
  await page.getByRole("button", { name: "Resume" }).click();
  await kind(page, "1 script can go on").waitFor({ state: "detached" });
  expect(postern.runs).toContain("mail a@example.org s");
  await page.getByRole("button", { name: "Accept" }).click();
  await kind(page, "1 memory to accept").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Notifications of desk fail").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Reconnect" }).click();
  await kind(page, "1 server is down").getByRole("alert").waitFor(); // it answers nothing still
  notes.hold(false);
  await page.getByRole("button", { name: "Reconnect" }).click();
  await kind(page, "1 server is down").waitFor({ state: "detached" });
  notes.define({ ...save, description: "Saves a note elsewhere." });
  await postern.operator("POST", "/v1/servers/notes/reconnect", {});
  await kind(page, "1 changed tool").getByRole("link", { name: "notes__save" }).click();
  await page.getByText("Saves a note elsewhere.").first().waitFor();
  await expect.poll(() => go(page).innerText()).toMatch(/3/);
  expect(grace.problems).toEqual([]);
});

it("a person who may not act reads so, and sees no kind that is not for them", async () => {
  await using vera = await at("/needs", "vera");
  const { page } = vera;
  await kind(page, "1 request waits").getByText("You may not act on this: it needs the role approver.").waitFor();
  await kind(page, "1 changed tool").getByText("it needs the role operator.").waitFor();
  expect(await page.getByRole("main").getByRole("button").count()).toBe(0);
  expect((await go(page).innerText()).trim()).toBe("Needs you");
  expect(await problemsOfAxe(page)).toEqual([]);
});

it("a server has a page with its state, its last words, its restarts and its calls", async () => {
  await using grace = await at("/tools");
  const { page } = grace;
  await page.getByRole("region", { name: "Tools" }).getByRole("link", { name: "notes", exact: true }).click();
  await page.waitForURL("**/servers/notes");
  const card = kind(page, "notes");
  await card.getByText("connected", { exact: true }).waitFor();
  await card.getByText(/^[12] since Postern started$/).waitFor();
  await card.getByRole("list", { name: "Earlier states" }).getByText("disconnected").first().waitFor();
  await card.getByRole("link", { name: "notes__save" }).waitFor();
  const calls = page.getByRole("region", { name: "Its tools, the busiest first" });
  expect(await calls.getByRole("link", { name: "1" }).first().getAttribute("href")).toMatch(
    /^\/audit\?tool=notes__save&type=tool_call\.succeeded%2C.+&since=\d{4}-/,
  );
  await page.getByRole("link", { name: "All servers" }).click();
  const stopped = kind(page, "lazy");
  await stopped.getByText("with the first call that needs it").waitFor();
  await stopped.getByRole("button", { name: "Reconnect" }).click();
  await stopped.getByText("connected", { exact: true }).waitFor();
  expect(await problemsOfAxe(page)).toEqual([]);
  expect(grace.problems).toEqual([]);
});

it("a number of the overview leads to the list that it counts, and an alarm to its cause", async () => {
  for (let number = 0; number < 5; number += 1) await postern.call("flaky_fetch", { number });
  await using grace = await at("/overview");
  const { page } = grace;
  const table = page.getByRole("region", { name: "Tools, the busiest first" });
  const row = table.getByRole("row").filter({ hasText: "flaky_fetch" });
  await row.getByRole("link", { name: "5" }).first().waitFor();
  const places = await row.getByRole("link").evaluateAll((links) => links.map((one) => one.getAttribute("href")));
  expect(places.map((place) => place?.replace(/since=.*/, "since=then"))).toEqual([
    "/tools/flaky_fetch",
    "/audit?tool=flaky_fetch&type=tool_call.succeeded%2Ctool_call.failed%2Ctool_call.unknown&since=then",
    "/calls?state=failed&tool=flaky_fetch&since=then",
  ]);
  await page
    .getByText(/approved/)
    .getByRole("link")
    .first()
    .click();
  await page.waitForURL("**/audit?*type=gate.approved*");
  await page.getByRole("button", { name: /^Alarms/ }).click();
  await page.getByRole("dialog").getByRole("link", { name: "Look at the tool" }).click();
  await page.waitForURL("**/tools/flaky_fetch");
  await page.getByText("no luck").first().waitFor();
  expect(grace.problems).toEqual([]);
});
