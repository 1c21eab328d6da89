/** Links into the console, and a person without a role. */
import { describe, expect, it } from "vitest";
import { noticeFrom, noticeTypes } from "../../packages/postern/src/observe/notify/notice.ts";
import { mail } from "./card.ts";
import { everyRole, password } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const people = { grace: everyRole, newcomer: [] };
const { postern, open, at } = setUp({ people });

describe("a person who follows the link of a message", () => {
  it("reaches the page of its subject", async () => {
    await using grace = await at("/approvals");
    const id = await postern.ask("send_email", mail("linked"));
    const entry = { timestamp: "", tenant: "default", summary: "", refs: {} } as never; // the fields of an entry that are not in the link
    const links = noticeTypes.map((type) => {
      const approval = type.startsWith("approval.") ? ({ id } as never) : undefined;
      return noticeFrom({ id: "msg_1", type, entry, approval, console: postern.url }).link ?? "";
    });
    expect(new Set(links)).toEqual(new Set([`${postern.url}/approvals/${id}`, `${postern.url}/alarms`]));
    for (const link of new Set(links)) {
      await grace.page.goto(link);
      await grace.live();
      await grace.page.getByText("No alarms").or(grace.page.getByRole("article")).first().waitFor();
      expect(await grace.page.getByText("There is no such page here").count(), link).toBe(0);
    }
    await grace.page.getByRole("heading", { name: "Alarms" }).or(grace.page.getByRole("article")).first().waitFor();
    expect(grace.problems).toEqual([]);
  });
});

describe("an alarm", () => {
  it("raised by a call links to its run", async () => {
    for (let number = 0; number < 5; number += 1) await postern.call("flaky_fetch", { number }, { run_id: "run-loop" });
    await using grace = await at("/alarms");
    await grace.page.getByRole("link", { name: "Look at its run" }).click();
    await grace.page.waitForURL("**/runs/run-loop");
    await grace.page.goto("/overview");
    await grace.page.getByRole("button", { name: /^Alarms/ }).click();
    await grace.page.getByRole("dialog").getByRole("link", { name: "Look at its run" }).click();
    await grace.page.getByRole("dialog").waitFor({ state: "hidden" });
  });
});

describe("a person without a role", () => {
  it("reads whom to ask, can sign out, and gets in after a role is given", async () => {
    await using person = await open();
    await person.page.goto("/approvals");
    const signIn = async (): Promise<void> => {
      await person.page.getByLabel("Name").fill("newcomer");
      await person.page.getByLabel("Password").fill(password);
      await person.page.getByRole("button", { name: "Sign in" }).click();
    };
    await signIn();
    const heading = person.page.getByRole("heading", { name: "You have no role here yet" });
    await heading.waitFor();
    await person.page.getByText("accounts roles newcomer viewer").waitFor();
    await person.page.getByRole("button", { name: "Sign out" }).click();
    await person.page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
    await signIn();
    await heading.waitFor();
    await person.page.reload();
    await heading.waitFor();
    await postern.operator("PATCH", "/v1/accounts/newcomer", { roles: ["viewer"] });
    await person.page.getByRole("button", { name: "Try again" }).click();
    await person.live();
    expect(await heading.count()).toBe(0);
    expect(person.problems).toEqual([]);
  });
});
