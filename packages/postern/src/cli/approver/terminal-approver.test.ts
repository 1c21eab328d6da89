import { PassThrough } from "node:stream";
import type { ApprovalRecord } from "@postern/core";
import { expect, it } from "vitest";
import { settled } from "../../../../core/src/testing/clock.ts";
import { createTerminalApprover } from "./terminal-approver.ts";

const request: ApprovalRecord = {
  id: "apr_1",
  key: "k",
  state: "pending",
  tool: "send_mail\u202e",
  action: "default",
  principal: { tenant: "default", agent: "local-agent" },
  runId: "run_1",
  traceId: "0".repeat(32),
  asked: { to: "a@b.c", body: "one\ntwo\u001b[2J" },
  arguments: { to: "a@b.c", body: "one\ntwo\u001b[2J" },
  binding: "b",
  definition: "d",
  risk: "high",
  why: [{ rule: "matrix A2/high", effect: "CONFIRM", where: "postern.yaml:12" }],
  policyVersion: "p",
  preview: { summary: "mail to a@b.c", diff: "-old\n+new", supported: true },
  requestedAt: 0,
  expiresAt: 3_600_000,
};

function open(size: { readonly columns?: number; readonly rows?: number } = {}) {
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), size);
  const text: string[] = [];
  output.on("data", (chunk: Buffer) => text.push(chunk.toString()));
  const time = { passedMs: 0 };
  const approver = createTerminalApprover(input, output, { now: () => time.passedMs });
  return { input, approver, time, shown: () => text.join("") };
}

const never = new AbortController().signal;

it.each([
  ["y", "approved"],
  ["YES", "approved"],
  ["n", "denied"],
  ["", "denied"],
  ["maybe", "denied"],
  ["yy", "denied"],
])("at the terminal, %j means %s (case 84)", async (line, decision) => {
  const { input, approver } = open();
  const answer = approver.ask(request, never);
  await settled();
  input.write(`${line}\n`);
  expect((await answer).decision).toBe(decision);
});

it("the end of the terminal's input is a denial (case 84)", async () => {
  const { input, approver } = open();
  const answer = approver.ask(request, never);
  await settled();
  input.end();
  expect(await answer).toMatchObject({ decision: "denied", reason: "the terminal's input ended" });
});

it("shows tool, risk, rule and place, arguments, preview, who asks and what silence means, and nothing that obeys", async () => {
  const { input, approver, shown } = open();
  const answer = approver.ask(request, never);
  await settled();
  const card = shown();
  for (const part of [
    "send_mail\\u{202e}",
    "risk high",
    "agents at level A2 need approval for high-risk calls (postern.yaml:12)",
    "two␛[2J",
    "+new",
    "local-agent",
    "60 min; after that the call is denied",
    "[y/N]",
  ]) {
    expect(card).toContain(part);
  }
  expect(card).not.toContain("\u001b");
  input.write("n\n");
  await answer;
});

it("asks one question at a time", async () => {
  const { input, approver, time, shown } = open();
  const first = approver.ask(request, never);
  const second = approver.ask({ ...request, id: "apr_2" }, never);
  await settled();
  expect(shown()).toContain("apr_1");
  expect(shown()).not.toContain("apr_2");
  input.write("n\n");
  expect((await first).decision).toBe("denied");
  await settled();
  time.passedMs = 1000;
  input.write("y\n");
  expect((await second).decision).toBe("approved");
});

it("ends a question that was answered elsewhere, and ignores a late answer", async () => {
  const { input, approver } = open();
  const elsewhere = new AbortController();
  const first = approver.ask(request, elsewhere.signal);
  await settled();
  elsewhere.abort();
  expect((await first).decision).toBe("denied");
  const aborted = await approver.ask(request, elsewhere.signal);
  expect(aborted.decision).toBe("denied");
  input.end();
});

it.each([
  ["y", "denied"],
  ["send_mail", "denied"],
  ["send_mail\u202e", "approved"],
])("what is longer than the screen is shown whole, and %j to it means %s", async (line, decision) => {
  const { input, approver, shown } = open({ columns: 80, rows: 24 });
  const script = `${Array.from({ length: 60 }, (_, i) => `line ${i}`).join("\n")}\nrm -rf /`;
  const answer = approver.ask({ ...request, arguments: { script } }, never);
  await settled();
  expect(shown()).toContain("rm -rf /");
  expect(shown()).toContain("more than your screen shows");
  expect(shown()).not.toContain("[y/N]");
  input.write(`${line}\n`);
  expect((await answer).decision).toBe(decision);
});

it("a line that was meant for one question answers no other, however soon that follows", async () => {
  const { input, approver, time, shown } = open();
  const answered = new AbortController();
  const first = approver.ask(request, answered.signal);
  const second = approver.ask({ ...request, id: "apr_2" }, never);
  const third = approver.ask({ ...request, id: "apr_3" }, never);
  await settled();
  answered.abort(); // elsewhere, while a person presses y
  await settled();
  input.write("y\n");
  await settled();
  expect([(await first).decision, shown()]).toEqual([
    "denied",
    expect.stringContaining("too soon to be meant for this one"),
  ]);
  time.passedMs = 1000;
  input.write("y\ny\n"); // pressed twice
  expect((await second).decision).toBe("approved");
  await settled();
  time.passedMs = 1999;
  input.write("y\n");
  await settled();
  time.passedMs = 2000;
  input.write("n\n");
  expect((await third).decision).toBe("denied");
});
