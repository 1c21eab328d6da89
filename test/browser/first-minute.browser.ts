/** An empty installation: an agent is connected, a sample is decided, and keys lead to all screens. */
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { approve, armed } from "./card.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ people: { grace: everyRole, victor: ["viewer"] } });

describe("an empty installation", () => {
  it("says how an agent is connected to a person who may make no calls", async () => {
    await using victor = await at("/approvals", "victor");
    await victor.page.getByRole("heading", { name: "Connect an agent" }).waitFor();
    await victor.page.getByText("that needs the role operator").waitFor();
    expect(await victor.page.getByRole("button", { name: "Make a token" }).count()).toBe(0);
    expect(victor.problems).toEqual([]);
  });

  it("leads from the address and a token to a sample that runs when it is approved", async () => {
    await using grace = await at("/approvals", "grace", { permissions: ["clipboard-read", "clipboard-write"] });
    const { page } = grace;
    await page.getByText(`${postern.url}/mcp`, { exact: true }).waitFor();
    const shown = page.getByRole("region", { name: "Configuration of" });
    expect(await shown.innerText()).toContain("Bearer $" + "{POSTERN_AGENT_TOKEN}");
    await page.getByLabel("Name of the agent").fill("x".repeat(300));
    await page.getByRole("button", { name: "Make a token" }).click();
    await page.getByText("is longer than 256 characters").waitFor();
    await page.getByLabel("Name of the agent").fill("first-agent");
    await page.getByRole("button", { name: "Make a token" }).click();
    await page.getByRole("button", { name: "Copy the token" }).click();
    const token = await page.evaluate("navigator.clipboard.readText()");
    expect(token).toMatch(/^pat_/);
    await page.getByRole("tab", { name: "Codex" }).click();
    expect(await shown.innerText()).toBe(
      `[mcp_servers.postern]\nurl = "${postern.url}/mcp"\nbearer_token_env_var = "POSTERN_AGENT_TOKEN"`,
    );
    await page.getByText(`export POSTERN_AGENT_TOKEN="${token}"`).waitFor();
    await page.getByRole("tab", { name: "JSON" }).click();
    expect(JSON.parse(await shown.innerText())).toEqual({
      mcpServers: {
        postern: { type: "http", url: `${postern.url}/mcp`, headers: { Authorization: `Bearer ${token}` } },
      },
    });
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.getByRole("button", { name: "Make a sample request" }).click();
    await page.getByText("A sample: it changes nothing.").waitFor();
    await armed(page);
    await approve(page).click();
    await page.getByText("The sample ran ok: Hello.").waitFor();
    const { calls } = await postern.operator("GET", "/v1/calls?limit=5");
    expect(calls).toEqual([
      expect.objectContaining({ state: "ok", requested_by: expect.objectContaining({ agent: "first-agent" }) }),
    ]);
    expect(grace.problems).toEqual([]);
  });
});

describe("keys", () => {
  it("open help and the command menu, and search; not while a person types", async () => {
    await using grace = await at("/tools", "grace");
    const { page } = grace;
    const dialog = page.getByRole("dialog");
    await page.getByLabel("Search tools").waitFor();
    await page.keyboard.press("?");
    await dialog.getByText("Search on this screen").waitFor();
    await dialog.getByText("Connect an agent").waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("mail?/");
    await page.keyboard.press("Control+k");
    expect(await page.getByLabel("Search tools").inputValue()).toBe("mail?/");
    expect(await dialog.count()).toBe(0);
    await page.getByRole("button", { name: "Go to, or do" }).click();
    await dialog.getByLabel("Screen, action").fill("policy");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/policy");
    expect(grace.problems).toEqual([]);
  });

  it("take a name that is typed fast, on a slow machine, and Enter", async () => {
    await using grace = await at("/overview", "grace");
    const { page } = grace;
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: 10 });
    for (const name of ["policy", "people", "alarms", "audit"]) {
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog").getByLabel("Screen, action").waitFor();
      await page.keyboard.type(name);
      await page.keyboard.press("Enter");
      await page.waitForURL(`**/${name}`);
    }
    expect(grace.problems).toEqual([]);
  });

  it("are not lost in the moment after a dialog was closed", async () => {
    await using grace = await at("/tools", "grace");
    const { page } = grace;
    await page.getByLabel("Search tools").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Search on this screen").waitFor();
    await page.evaluate(`{
      const dialog = document.querySelector("dialog");
      dialog.close(); // as Escape does; the page removes it later
      dialog.querySelector("button").dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
    }`);
    expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("Search tools");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("Search tools");
  });

  it("stay in a search field as they are typed, while the list follows", async () => {
    await using grace = await at("/overview", "grace");
    const { page } = grace;
    await page.getByRole("link", { name: "Tools", exact: true }).click();
    const field = page.getByLabel("Search tools");
    await field.pressSequentially("mail ");
    await page.waitForURL("**/tools?search=mail");
    await field.pressSequentially("zz");
    await page.waitForURL("**/tools?search=mail+zz");
    expect(await field.inputValue()).toBe("mail zz");
    await page.getByText("No tool matches").waitFor();
    await page.goto(page.url().replace("mail+zz", "rows"));
    expect(await field.inputValue()).toBe("rows");
    await page.getByRole("link", { name: "Tools", exact: true }).click();
    await page.waitForURL("**/tools");
    expect(await field.inputValue()).toBe("");
    expect(grace.problems).toEqual([]);
  });

  it("lead to a tool, and to a request by what stands in its arguments", async () => {
    const id = await postern.ask("send_email", { to: "zoe@example.org", subject: "invoice 77", body: "Hello" });
    await using grace = await at("/overview", "grace");
    const { page } = grace;
    const field = page.getByRole("dialog").getByLabel("Screen, action");
    await page.keyboard.press("Control+k");
    await field.fill("update_rows");
    await page.getByRole("dialog").getByRole("button", { name: "update_rows" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/tools/update_rows");
    await page.keyboard.press("Control+k");
    await field.fill("invoice 77");
    await page.getByRole("dialog").getByRole("button", { name: "send_email: A mail to zoe" }).click();
    await page.waitForURL(`**/approvals/${id}`);
    await page.keyboard.press("Meta+k");
    await field.fill("stop all");
    await page.getByRole("button", { name: "Stop all calls" }).click();
    await page.getByRole("dialog").getByText("Every call of every agent is refused at once").waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.getByRole("button", { name: "Back" }).click();
    expect(grace.problems).toEqual([]);
  });
});
