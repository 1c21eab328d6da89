/** People, groups and tokens, as an administrator and another person see them. */
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { everyRole, password } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at, open } = setUp({
  approvals: "  routes: [{ name: money, match: { tools: [transfer_money] }, to: { groups: [finance] } }]\n",
  people: { grace: everyRole, oscar: ["operator"] },
});

const accountOf = (name: string) => postern.operator("GET", `/v1/accounts/${name}`);

describe("people", () => {
  it("are added, sign in by a link, get groups and a password, and are disabled", async () => {
    await using grace = await at("/people", "grace");
    const { page } = grace;
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Add a person" }).click();
    await dialog.getByLabel("Name to sign in with").fill("oscar");
    await dialog.getByRole("button", { name: "Add" }).click();
    const refused = dialog.locator("[aria-invalid=true]");
    await refused.waitFor();
    await dialog.getByText("There is an account “oscar” already").waitFor();
    await dialog.getByLabel("Name to sign in with").fill("lena");
    await dialog.getByLabel("Name that people read").fill("Lena L.");
    await dialog.getByLabel("Groups").fill("finance, ops");
    await dialog.getByLabel(/^approver/).check();
    expect(await problemsOfAxe(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByRole("heading", { name: "Lena L." }).waitFor();
    expect(await accountOf("lena")).toMatchObject({ roles: ["viewer", "approver"], groups: ["finance", "ops"] });

    await dialog.getByRole("button", { name: "Make a link" }).click();
    const link = await dialog.getByText("/sign-in#link=").innerText();
    await using lena = await open();
    await lena.page.goto(link);
    await lena.live();
    await lena.page.getByRole("button", { name: "Your account" }).waitFor();

    await dialog.getByLabel("New password").fill("short");
    await dialog.getByRole("button", { name: "Set the password" }).click();
    await dialog.getByText("A password has 12 to 256 characters").waitFor();
    await dialog.getByLabel("New password").fill(password);
    await dialog.getByRole("button", { name: "Set the password" }).click();
    await page.getByText("The password was set.").waitFor();
    await lena.page.getByRole("heading", { name: "Your session has ended" }).waitFor();

    await dialog.getByLabel(/^Disabled/).check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("row", { name: /Lena L\..*disabled/ }).waitFor();
    expect(await accountOf("lena")).toMatchObject({ disabled: true, signs_in: "password" });
    expect(await problemsOfAxe(page)).toEqual([]);
    expect(grace.problems).toEqual([]);
  });

  it("are shown by group, with the requests that wait for it", async () => {
    await postern.ask("transfer_money", { to: "DE1", amount: 1 });
    await using grace = await at("/people/groups", "grace");
    await grace.page.getByRole("row", { name: /finance Lena L\. \(lena\) 1/ }).waitFor();
    await grace.page.getByRole("row", { name: /ops Lena L\. \(lena\) 0/ }).waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
  });
});

describe("tokens", () => {
  const call = (token: string) =>
    fetch(`${postern.url}/v1/tools`, { headers: { authorization: `Bearer ${token}` } }).then(({ status }) => status);

  it("of one's own are made, shown once, and revoked; those of others are not seen", async () => {
    await postern.operator("POST", "/v1/tokens", { name: "of-the-operator", kind: "agent" });
    await using oscar = await at("/overview", "oscar");
    const { page } = oscar;
    await page.getByRole("button", { name: "Your account" }).click();
    await page.getByRole("link", { name: "Your tokens" }).click();
    await page.getByRole("heading", { name: "No token was made" }).or(page.getByText("No token was made")).waitFor();
    expect(await page.getByRole("tab").count()).toBe(0);
    await page.getByRole("button", { name: "Make a token…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name of the agent").fill("nightly");
    expect(await problemsOfAxe(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Make a token" }).click();
    const token = await dialog.getByText(/^pat_/).innerText();
    expect(await call(token)).toBe(200);
    await page.keyboard.press("Escape");
    await page.getByRole("row", { name: /nightly.*calls as oscar\/nightly.*works/ }).waitFor();
    expect(await page.getByText(token).count()).toBe(0);
    await page.getByRole("button", { name: "Revoke nightly" }).click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("row", { name: /nightly.*revoked/ }).waitFor();
    expect(await call(token)).toBe(401);
    expect(await problemsOfAxe(page)).toEqual([]);
    expect(oscar.problems).toEqual([]);

    await using grace = await at("/people/tokens", "grace");
    await grace.page.getByRole("row", { name: /of-the-operator.*works/ }).waitFor();
  });
});
