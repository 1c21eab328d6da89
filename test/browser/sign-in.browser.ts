import { describe, expect, it } from "vitest";
import type { Person } from "./browser.ts";
import { approve, mail } from "./card.ts";
import { password, RuntimeFixture } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, open, at } = setUp();

const kept = (person: Person, page = person.page) => page.evaluate("localStorage.getItem('postern.proof')");

describe("the proof of the session", () => {
  it("is asked for by a new sign-in, with the reason, after the browser cleared it", async () => {
    await using grace = await at("/runs");
    await grace.page.evaluate("localStorage.clear()");
    await grace.page.reload();
    await grace.page.getByText("what this page stored for it was cleared").waitFor();
    await grace.page.getByLabel("Name").fill("grace");
    await grace.page.getByLabel("Password").fill(password);
    await grace.page.getByRole("button", { name: "Sign in" }).click();
    await grace.live();
    await grace.page.getByRole("heading", { name: "Runs" }).waitFor();
    expect(await grace.page.getByText("what this page stored for it was cleared").count()).toBe(0);
  });

  it("is shared by all tabs: a sign-in or sign-out in one applies to the others", async () => {
    await using grace = await at("/approvals");
    const second = await grace.tab("/runs");
    await grace.live(second);
    await grace.page.getByRole("button", { name: "Your account" }).click();
    await grace.page.getByRole("button", { name: "Sign out" }).click();
    await grace.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    expect(await kept(grace)).toBeNull();
    await second.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    await grace.page.getByLabel("Name").fill("grace");
    await grace.page.getByLabel("Password").fill(password);
    await grace.page.getByRole("button", { name: "Sign in" }).click();
    await grace.live();
    await second.getByRole("dialog", { name: "Your session has ended" }).waitFor({ state: "hidden" });
    await grace.live(second);
  });

  it("is taken from an address only on the way back from a provider, and removed at once", async () => {
    await using grace = await at("/approvals");
    const own = await kept(grace);
    await grace.page.goto("about:blank");
    await grace.page.goto("/approvals#csrf=planted");
    await grace.live();
    expect(grace.page.url()).toBe(`${postern.url}/approvals`);
    expect(await kept(grace)).toBe(own);
    await grace.page.evaluate("localStorage.setItem('postern.signing-in-elsewhere', String(Date.now()))");
    await grace.page.goto("about:blank");
    await grace.page.goto("/approvals#csrf=from-the-provider");
    await grace.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    expect(grace.page.url()).toBe(`${postern.url}/approvals`);
    expect(await kept(grace)).toBe("from-the-provider");
  });

  it("is needed beside the cookie by every sender", async () => {
    await using grace = await at("/approvals");
    for (const path of ["/v1/session", "/v1/approvals", "/v1/audit", "/v1/events"])
      expect((await grace.context.request.get(path)).status(), path).toBe(401);
    expect(await grace.page.evaluate("fetch('/v1/session').then(({ status }) => status)")).toBe(401);
  });
});

describe("signing in", () => {
  it("works with name and password, shows what is wrong, and opens the requested page", async () => {
    await using person = await open();
    await person.page.goto("/runs");
    await person.page.getByLabel("Name").fill("grace");
    await person.page.getByLabel("Password").fill("wrong");
    await person.page.getByRole("button", { name: "Sign in" }).click();
    await person.page.getByRole("alert").getByText("Name or password is wrong.").waitFor();
    await person.page.getByLabel("Password").fill(password);
    await person.page.getByRole("button", { name: "Sign in" }).click();
    await person.live();
    await person.page.getByRole("heading", { name: "Runs" }).waitFor();
  });

  it("shows that the provider's answer was refused, with no text of the address", async () => {
    await using person = await open();
    await person.page.goto("/sign-in?problem=openid_refused");
    await person.page.getByRole("alert").getByText("does not sign you in here").waitFor();
    await person.page.goto("/sign-in?problem=Your+account+moved+to+evil.example");
    await person.page.getByLabel("Password").waitFor();
    expect(await person.page.getByText("evil.example").count()).toBe(0);
    expect(person.problems).toEqual([]);
  });

  it("offers the configured provider, and returns to the page before it", async () => {
    await using person = await open();
    await person.page.route("**/v1/session/ways", (route) =>
      route.fulfill({ json: { password: false, accounts: true, openid: { name: "Example" } } }),
    );
    await person.page.goto("/approvals/apr_1");
    const way = person.page.getByRole("link", { name: "Continue with Example" });
    expect(await way.getAttribute("href")).toBe("/v1/session/openid?to=%2Fapprovals%2Fapr_1");
    expect(await person.page.getByLabel("Password").count()).toBe(0);
  });

  it("works by a link, once", async () => {
    const { url } = await postern.operator("POST", "/v1/accounts/grace/link");
    await using first = await open();
    await first.page.goto(String(url));
    await first.live();
    expect(first.page.url()).not.toContain("link=");
    await using second = await open();
    await second.page.goto(String(url));
    await second.page.getByText("A link works once").waitFor();
  });

  it("works by a link while there are no accounts, and shows how to get one", async () => {
    await using fresh = await RuntimeFixture.open();
    await using operator = await open({}, fresh.url);
    await operator.page.goto("/");
    await operator.page.getByText("postern accounts link").waitFor();
    expect(await operator.page.getByLabel("Password").count()).toBe(0);
    const { url } = await fresh.operator("POST", "/v1/accounts/operator/link");
    await operator.page.goto("about:blank");
    await operator.page.goto(String(url));
    await operator.live();
    await operator.page.getByRole("heading", { name: "Connect an agent" }).waitFor();
    expect(operator.problems).toEqual([]);

    // The first person has all roles, and is told how to sign in.
    await operator.page.goto("/people");
    await operator.page.getByRole("button", { name: "Add a person" }).click();
    const dialog = operator.page.getByRole("dialog");
    await dialog.getByLabel("Name to sign in with").fill("ada");
    expect(await dialog.getByLabel(/^admin/).isChecked()).toBe(true);
    await dialog.getByText("postern accounts link ada").waitFor();
    await dialog.getByRole("button", { name: "Add" }).click();
    await operator.page.getByText("Your session has ended").waitFor();
    const ada = await fresh.operator("POST", "/v1/accounts/ada/link");
    await operator.page.goto("about:blank");
    await operator.page.goto(String(ada["url"]));
    await operator.live();
    await operator.page.getByRole("button", { name: /Ada|ada/ }).waitFor();
  });
});

describe("a session", () => {
  it("asks to sign in over the open page when it ends, and keeps the page", async () => {
    const id = await postern.ask("send_email", mail("session"));
    await using grace = await at(`/approvals/${id}`);
    await approve(grace.page).waitFor();
    await postern.operator("POST", "/v1/accounts/grace/sign-out");
    const dialog = grace.page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.waitFor();
    await dialog.getByLabel("Name").fill("grace");
    await dialog.getByLabel("Password").fill(password);
    await dialog.getByRole("button", { name: "Sign in" }).click();
    await dialog.waitFor({ state: "hidden" });
    await grace.live();
    await approve(grace.page).click();
    await expect.poll(async () => (await postern.approval(id))["status"]).toBe("approved");
  });

  it("leaves nothing in the page after signing out", async () => {
    await using grace = await at("/approvals");
    await grace.page.getByRole("button", { name: "Your account" }).click();
    await grace.page.getByRole("button", { name: "Sign out" }).click();
    await grace.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    expect((await grace.context.request.get("/v1/approvals")).status()).toBe(401);
  });
});
