/** What a call was given and what came of it, where a person looks: in its run, and on its request. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ server: true });

/** What the page has copied, without the clipboard of the machine. */
const copies = `
  window.copied = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => void window.copied.push(text) } });
`;

it("a call of a run shows its input, its result and where its time went; nothing in them is markup", async () => {
  const message = `<b>hello</b> \u202e it's me ${"long ".repeat(1_000)}end`;
  await postern.call("everything__echo", { message }, { run_id: "run-input" });
  await using grace = await at("/runs/run-input");
  const { page } = grace;
  const read = page.waitForRequest(/\/v1\/calls\/call_/);
  await page.getByRole("button", { name: /everything__echo/ }).click();
  await read; // only an open call is read
  const input = page.locator("pre").filter({ hasText: '"message"' });
  await expect.poll(() => input.innerText()).toContain("\"<b>hello</b> RLO it's me");
  expect(await input.innerText()).not.toContain("end");
  await input.getByRole("button", { name: /all 5,\d+ characters/ }).click();
  expect(await input.innerText()).toContain("long end");
  expect(await page.getByRole("region", { name: "Text of the result" }).innerText()).toContain("Echo: <b>hello</b>");
  expect(await page.getByText(/^gate [\d.<]+ m?s · tool [\d.<]+ m?s$/).count()).toBe(1);
  expect(await problemsOfAxe(page)).toEqual([]);
  expect(grace.problems).toEqual([]);
});

it("a call is copied as JSON and as a command that makes it again", async () => {
  const given = { message: 'it\'s $HOME `id` \\ "quoted" \u202e \u007f\n!! é 😀' };
  await postern.call("everything__echo", given, { run_id: "run-copied" });
  await using grace = await at("/runs/run-copied");
  await grace.page.addInitScript(copies);
  await grace.page.reload();
  await grace.page.getByRole("button", { name: /everything__echo/ }).click();
  await grace.page.getByRole("button", { name: "Copy the input" }).click();
  await grace.page.getByRole("button", { name: "Copy as curl" }).click();
  await expect.poll(() => grace.page.evaluate("window.copied.length")).toBe(2);
  const [json = "", command = ""] = await grace.page.evaluate<string[]>("window.copied");
  expect(JSON.parse(json)).toEqual(given);
  expect(command).toMatch(/^[ -~]+$/); // nothing in it acts on a terminal
  const { stdout } = await promisify(execFile)("sh", ["-c", command], {
    env: { ...process.env, POSTERN_TOKEN: postern.token("agent") },
  });
  const { status, call_id } = JSON.parse(stdout);
  expect(status).toBe("ok");
  const made = await postern.operator("GET", `/v1/calls/${call_id}`);
  expect(made).toMatchObject({ tool: "everything__echo", arguments: given });
  expect(made["run_id"]).not.toBe("run-copied"); // another call
});

it("a decided request shows what came of its call", async () => {
  const mail = { to: "ada@example.org", subject: "came of it", body: "Hello" };
  const denied = await postern.ask("send_email", mail, { run_id: "run-came" });
  const ran = await postern.ask("send_email", { ...mail, to: "bob@example.org" }, { run_id: "run-came" });
  await using grace = await at(`/approvals/${ran}`);
  const { page } = grace;
  const came = page.locator("section").filter({ has: page.getByRole("heading", { name: "What came of it" }) });
  await page.locator("[data-verified=yes]").waitFor();
  expect(await came.count()).toBe(0); // it waits
  await postern.operator("POST", `/v1/approvals/${ran}/approve`, {});
  await postern.call("send_email", { ...mail, to: "bob@example.org" }, { run_id: "run-came" });
  await came.getByRole("region", { name: "Text of the result" }).getByText("sent to bob@example.org").waitFor();
  await came.getByText(/^gate .* · waited .* · tool /).waitFor();
  expect(await problemsOfAxe(page)).toEqual([]);
  await came.getByRole("link", { name: "Open the call" }).click();
  await page.getByRole("complementary", { name: "Call" }).locator("pre").getByText("bob@example.org").waitFor();
  await postern.operator("POST", `/v1/approvals/${denied}/deny`, { reason: "not now" });
  await page.goto(`/approvals/${denied}`);
  await came.getByText(/^gate .* · waited /).waitFor();
  expect(await came.getByText(/not now/).count()).toBe(1);
  expect(grace.problems).toEqual([]);
});

it("the alarm of an unknown outcome leads to the call, which shows what it was given", async () => {
  void postern.call("slow_import", { table: "people" }, { run_id: "run-unknown" }).catch(() => undefined);
  await expect.poll(() => postern.runs).toContain("slow");
  await postern.kill("SIGKILL");
  await postern.start();
  await using grace = await at("/overview");
  const { page } = grace;
  await page.getByRole("button", { name: "Alarms: 1 open" }).click();
  await page.getByText("Look where it should have had its effect, then settle it").waitFor();
  await page.getByRole("link", { name: "Look at the call" }).click();
  await page.getByRole("button", { name: /slow_import/, expanded: true }).waitFor();
  await page.getByText("It may have happened or not").waitFor();
  await page.locator("pre").getByText("people").waitFor();
  expect(await problemsOfAxe(page)).toEqual([]);
  expect(grace.problems).toEqual([]);
});

it("the alarm of a server that is down leads to the server, also when it offers no tool", async () => {
  await using grace = await at("/overview");
  const { page } = grace;
  const when = new Date().toISOString();
  const alarm = {
    ...{ alarm_id: "alm_server_down", kind: "server_down", dedupe_key: "server_down/notes", state: "open" },
    ...{ severity: "warning", summary: "Server `notes` is down.", count: 1, first_seen: when, last_seen: when },
    data: { server: "notes", last_error: "<b>ended</b>" },
  };
  await page.route("**/v1/alarms*", (route) => route.fulfill({ json: { alarms: [alarm] } }));
  await page.route("**/v1/health*", async (route) => {
    const health = await (await route.fetch()).json();
    const notes = { name: "notes", status: "disconnected", problem: "the process ended" };
    await route.fulfill({ json: { ...health, servers: [...health.servers, { ...health.servers[0], ...notes }] } });
  });
  await page.reload();
  await page.getByRole("button", { name: "Alarms: 1 open" }).click();
  await page.getByText("Postern connects again by itself").waitFor();
  await page.getByRole("link", { name: "Look at the server" }).click();
  await page.waitForURL("**/servers/notes");
  await page.getByText("disconnected", { exact: true }).waitFor();
  await page.getByText("the process ended").waitFor();
  expect(await page.getByText("everything", { exact: true }).count()).toBe(0);
  expect(await problemsOfAxe(page)).toEqual([]);
});
