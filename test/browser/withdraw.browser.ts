/** The person who asked withdraws a request in the console; no approver is needed. */
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import type { Person } from "./browser.ts";
import { armed } from "./card.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ people: { grace: everyRole, linus: ["approver"], omar: ["operator"] } });

/** A call made by hand, in the session of this page. */
async function ask({ page }: Person, text: string): Promise<string> {
  const outcome = await page.evaluate<{ readonly approval_id: string }>(`(async () => {
    const headers = { "content-type": "application/json", "x-postern-csrf": localStorage.getItem("postern.proof") };
    const body = JSON.stringify({ tool: "post_text", arguments: { text: ${JSON.stringify(text)} } });
    return (await fetch("/v1/calls", { method: "POST", headers, body })).json();
  })()`);
  return outcome.approval_id;
}

describe("withdrawing", () => {
  it.each(["grace", "omar"])("is a button for who asked, whether they may decide or not: %s", async (name) => {
    await using asker = await at("/approvals", name);
    const id = await ask(asker, `by ${name}`);
    await using linus = await at(`/approvals/${id}`, "linus");
    await armed(linus.page);
    expect(await linus.page.getByRole("button", { name: "Withdraw" }).count()).toBe(0);
    await asker.page.goto(`/approvals/${id}`);
    await asker.page.getByRole("button", { name: "Withdraw" }).click();
    await asker.page.getByText("Withdrawn. post_text does not run.").waitFor();
    expect(await postern.approval(id)).toMatchObject({ status: "withdrawn", decision: { by: name } });
    await linus.page.getByText(`withdrawn by ${name}`).first().waitFor();
    expect(postern.runs.filter((line) => line === "post")).toEqual([]);
    expect([...asker.problems, ...linus.problems]).toEqual([]);
  });

  it("replaces the buttons that the server would refuse, with the reason", async () => {
    await using grace = await at("/approvals");
    const id = await ask(grace, "her own");
    await grace.page.goto(`/approvals/${id}`);
    await armed(grace.page);
    await grace.page.getByText("“grace” asked for this call and cannot decide it; another person must.").waitFor();
    for (const name of [/^Approve/, /^Deny/, /^Edit/, /^Remember…/])
      expect(await grace.page.getByRole("button", { name }).count()).toBe(0);
    for (const key of ["a", "e", "d"]) await grace.page.keyboard.press(key);
    expect(await grace.page.getByRole("dialog").count()).toBe(0);
    await using omar = await at(`/approvals/${id}`, "omar");
    await omar.page.getByText("that takes the role approver").waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    expect(await postern.approval(id)).toMatchObject({ status: "pending" });
    expect([...grace.problems, ...omar.problems]).toEqual([]);
  });

  it("is offered to the owner of an agent that asked for no user, and to no other person", async () => {
    await using grace = await at("/approvals");
    const { token } = await grace.page.evaluate<{ readonly token: string }>(`(async () => {
      const headers = { "content-type": "application/json", "x-postern-csrf": localStorage.getItem("postern.proof") };
      const body = JSON.stringify({ name: "hers", kind: "agent", agent: "clerk" });
      return (await fetch("/v1/tokens", { method: "POST", headers, body })).json();
    })()`);
    const answer = await fetch(`${postern.url}/v1/calls`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ tool: "post_text", arguments: { text: "by her agent" } }),
    });
    const { approval_id: id }: { readonly approval_id: string } = JSON.parse(await answer.text());
    const { requested_by } = await postern.approval(id);
    expect(requested_by).toMatchObject({ agent: "clerk" });
    expect(requested_by).not.toHaveProperty("user");
    await using omar = await at(`/approvals/${id}`, "omar");
    await armed(omar.page);
    expect(await omar.page.getByRole("button", { name: "Withdraw" }).count()).toBe(0);
    await grace.page.goto(`/approvals/${id}`);
    await grace.page.getByRole("button", { name: "Withdraw" }).click();
    await grace.page.getByText("Withdrawn. post_text does not run.").waitFor();
    expect(await postern.approval(id)).toMatchObject({ status: "withdrawn", decision: { by: "grace" } });
  });

  it("is not offered for a request of another agent", async () => {
    const id = await postern.ask("post_text", { text: "an agent's" });
    await using grace = await at(`/approvals/${id}`);
    await armed(grace.page);
    expect(await grace.page.getByRole("button", { name: "Withdraw" }).count()).toBe(0);
  });
});
