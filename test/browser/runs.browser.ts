import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ server: true });

const echo = (run: string, message = "hello") => postern.call("everything__echo", { message }, { run_id: run });

describe("runs", () => {
  it("are found by search, and opened", async () => {
    await echo("run-one");
    await echo("run-two");
    await using grace = await at("/runs");
    await grace.page.getByRole("link", { name: /run-one/ }).waitFor();
    await grace.page.getByLabel("Search runs").fill("two local-agent");
    await grace.page.getByRole("link", { name: /run-one/ }).waitFor({ state: "detached" });
    await grace.page.getByRole("link", { name: /run-two/ }).click();
    await grace.page.getByRole("button", { name: /everything__echo/ }).waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    expect(grace.problems).toEqual([]);
  });

  it("show waiting for approval apart from executing, with a link to the request", async () => {
    const mail = { to: "ada@example.org", subject: "timeline", body: "Hello" };
    const id = await postern.ask("send_email", mail, { run_id: "run-waits" });
    await using grace = await at("/runs/run-waits");
    await grace.page.getByRole("img", { name: /waiting for approval/ }).waitFor();
    expect(await grace.page.getByRole("img", { name: /executing/ }).count()).toBe(0);
    await postern.operator("POST", `/v1/approvals/${id}/approve`, {});
    await postern.call("send_email", mail, { run_id: "run-waits" });
    await grace.page.getByRole("img", { name: /waiting for approval.*executing/ }).waitFor();
    await grace.page.getByRole("button", { name: /send_email/ }).click();
    await grace.page.getByText("approved by operator").waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    await grace.page.getByRole("link", { name: "the request" }).click();
    await grace.page.waitForURL(`**/approvals/${id}`);
  });

  it("show a call as approved, not sent again, until its agent sends it again", async () => {
    const mail = { to: "ada@example.org", subject: "not sent again", body: "Hello" };
    const id = await postern.ask("send_email", mail, { run_id: "run-approved" });
    await using grace = await at("/runs/run-approved");
    const row = grace.page.getByRole("button", { name: /send_email/ });
    await row.getByText("waiting", { exact: true }).waitFor();
    await postern.operator("POST", `/v1/approvals/${id}/approve`, {});
    await row.getByText("approved, not run yet", { exact: true }).waitFor();
    await postern.call("send_email", mail, { run_id: "run-approved" });
    await row.getByText("ran ok", { exact: true }).waitFor();
    expect(await row.getByText("approved").count()).toBe(0);
  });

  it("show on a phone the duration and the number of artifacts of each call", async () => {
    await echo("run-phone", "large ".repeat(80_000));
    await using grace = await at("/runs/run-phone", "grace", { viewport: { width: 390, height: 800 } });
    const row = grace.page.getByRole("button", { name: /everything__echo/ });
    await row
      .getByText(/^[\d.<]+ m?s$/)
      .first()
      .waitFor();
    expect(
      await row
        .getByText(/^[\d.<]+ m?s$/)
        .filter({ visible: true })
        .count(),
    ).toBe(1);
    expect(await row.innerText()).toMatch(/[1-9]\d* ?\n?artifact/);
  });

  it("save an artifact under a safe name, and show no byte of it", async () => {
    await echo("run-large", "<script>alert(1)</script>".repeat(20_000));
    await using grace = await at("/runs/run-large");
    await grace.page.getByRole("button", { name: /everything__echo/ }).click();
    const chip = grace.page.getByRole("list", { name: "Artifacts" }).getByRole("button").first();
    const [saved] = await Promise.all([grace.page.waitForEvent("download"), chip.click()]);
    expect(saved.suggestedFilename()).toMatch(/^[\w.-]+$/);
    expect(readFileSync(await saved.path(), "utf8")).toContain("<script>alert(1)</script>");
    expect(grace.problems).toEqual([]);
  });

  it("show the line a script waits in; after approval it resumes, with each call under it", async () => {
    const code = [
      'const reply = await tools.everything.echo({ message: "hello" });',
      'const sent = await tools.send_email({ to: "ada@example.org", subject: "from a script", body: reply.text });',
      "const now = await tools.clock_now({});",
      "({ sent: sent.text, now: now.text })",
    ].join("\n");
    const script = () => postern.call("tool_chain", { code, language: "javascript" }, { run_id: "run-script" });
    expect(await script()).toMatchObject({ status: "pending" });
    await using grace = await at("/runs/run-script");
    const { page } = grace;
    const rows = page.getByRole("region", { name: "Calls of this run" }).getByRole("button", { expanded: false });
    await rows.filter({ hasText: "tool_chain waits in line 2" }).waitFor();
    await page
      .getByRole("img", { name: /executing.*waiting for approval/ })
      .first()
      .waitFor();
    await rows.filter({ hasText: "tool_chain" }).click();
    const lines = page.getByRole("list", { name: "Lines of the script" }).getByRole("listitem");
    await lines.nth(1).getByText("waiting").waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.getByRole("link", { name: "The request for send_email" }).click();
    await page.getByRole("button", { name: "Approve once" }).click();
    await page.getByText("Approved: ").waitFor();
    expect(await script()).toMatchObject({ status: "ok", structured: { status: "ok", tool_calls: 3 } });
    expect(postern.runs.filter((line) => line.endsWith("from a script"))).toHaveLength(1);
    await page.goto("/runs/run-script");
    for (const [tool, line] of [
      ["everything__echo", 1],
      ["send_email", 2],
      ["clock_now", 3],
    ] as const)
      await rows.filter({ hasText: `${tool} line ${line}` }).waitFor();
    await rows.filter({ hasText: "tool_chain" }).click();
    for (const at of [0, 1, 2]) await lines.nth(at).getByText("ran ok", { exact: true }).waitFor();
    await page
      .getByRole("img", { name: /executing.*waiting for approval.*executing/ })
      .first()
      .waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    expect(grace.problems).toEqual([]);
  });

  it("show what a script printed and returned, and the outcomes of each line", async () => {
    const code = [
      "for (let i = 0; i < 12; i += 1) await tools.clock_now({ number: i });",
      "for (let i = 0; i < 3; i += 1) await tools.flaky_fetch({ number: i }).catch((problem) => console.log(i, problem.code));",
      '({ answered: "<b>forty-two</b>" })',
    ].join("\n");
    await postern.call("tool_chain", { code, language: "javascript" }, { run_id: "run-output" });
    await using grace = await at("/runs/run-output");
    const { page } = grace;
    await page.getByRole("button", { name: /tool_chain/ }).click();
    const lines = page.getByRole("list", { name: "Lines of the script" }).getByRole("listitem");
    await lines.nth(0).getByText("×12").waitFor();
    await lines.nth(1).getByText("×3").waitFor();
    const region = (name: string) => page.getByRole("region", { name });
    expect(await region("What it printed").innerText()).toBe("0 tool_failed\n1 tool_failed\n2 tool_failed");
    expect(await region("What it returned").innerText()).toBe('{"answered":"<b>forty-two</b>"}');
    expect(await problemsOfAxe(page)).toEqual([]);
    expect(grace.problems).toEqual([]);
  });

  it("nest the calls of a script under it before the page with the script is read", async () => {
    const code = "for (let i = 0; i < 300; i += 1) await tools.clock_now({ number: i });";
    await postern.call("tool_chain", { code, language: "javascript" }, { run_id: "run-nested" });
    await using grace = await at("/runs/run-nested");
    const rows = grace.page.getByRole("region", { name: "Calls of this run" }).getByRole("button", { expanded: false });
    await rows.first().filter({ hasText: "tool_chain" }).waitFor();
    await grace.page.getByText("the latest 251 calls").waitFor();
    await grace.page.getByRole("button", { name: "Load earlier calls" }).click();
    await grace.page.getByText(/^301 calls/).waitFor();
    await rows.first().filter({ hasText: "tool_chain" }).waitFor();
    expect(await rows.filter({ hasText: "tool_chain" }).count()).toBe(1);
  });

  it("mark an unknown outcome after a crash, say what to do, and let a person settle it", async () => {
    void postern.call("slow_import", {}, { run_id: "run-crash" }).catch(() => undefined);
    await expect.poll(() => postern.runs).toContain("slow");
    await postern.kill("SIGKILL");
    await postern.start();
    await using grace = await at("/runs/run-crash");
    await grace.page.getByText("1 with unknown outcome").waitFor();
    await grace.page.getByRole("button", { name: /slow_import/ }).click();
    await grace.page.getByText("It may have happened or not").waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    await grace.page.getByRole("button", { name: "I have looked" }).click();
    const dialog = grace.page.getByRole("dialog");
    expect(await dialog.getByRole("button", { name: "Settle it" }).isDisabled()).toBe(true);
    await dialog.getByText("It did not happen").click();
    await dialog.getByLabel("How do you know?").fill("the table is empty");
    await dialog.getByRole("button", { name: "Settle it" }).click();
    await grace.page.getByText("1 with unknown outcome").waitFor({ state: "detached" });
    const { calls } = (await postern.operator("GET", "/v1/runs/run-crash/timeline")) as { calls: { state: string }[] };
    expect(calls.map(({ state }) => state)).toEqual(["failed"]);
  });
});
