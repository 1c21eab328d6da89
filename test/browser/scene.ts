import type { RuntimeFixture, Ways } from "./console-fixture.ts";

/** Requests that wait. */
export interface Shown {
  readonly mail: string;
  readonly critical: string;
  /** One of several similar ones. */
  readonly edits: string;
  /** Two must agree. */
  readonly quorum: string;
  /** It was approved, and has not run. */
  readonly unused: string;
}

/** The configuration for `scene`. */
export const ways: Ways = {
  server: true,
  approvals: "  routes: [{ name: two-people, match: { tools: [update_rows] }, quorum: 2 }]\n",
};

/** Makes the calls, runs and requests that screenshots show. */
export async function scene(postern: RuntimeFixture): Promise<Shown> {
  const run = { run_id: "run-invoices" };
  for (let number = 0; number < 6; number += 1) await postern.call("clock_now", { number }, run);
  await postern.call("everything__echo", { message: "hello" }, run);
  for (let number = 0; number < 2; number += 1) await postern.call("flaky_fetch", { number }, run);
  await decided(
    postern,
    "edit_file",
    { path: "invoices/1041.md", from: "status: draft", to: "status: sent" },
    "approve",
  );
  await decided(postern, "post_text", { text: "to all customers" }, "deny");
  await script(postern);
  await ranScript(postern);
  for (let number = 2; number < 7; number += 1) await postern.call("flaky_fetch", { number }, run);
  const critical = await postern.ask(
    "transfer_money",
    { to: "DE89 3704 0044 0532 0130 00", amount: 1240.5 },
    { ...run, reason: "The invoice is due today and the user said to pay what is due." },
  );
  let edits = "";
  for (let number = 1; number <= 3; number += 1) {
    const given = { path: `deploy/region-${number}.yaml`, from: "  replicas: 2", to: "  replicas: 20" };
    edits = await postern.ask("edit_file", given, {
      run_id: "run-deploy",
      reason: "Traffic is expected to grow tenfold.",
    });
  }
  const quorum = await postern.ask(
    "update_rows",
    { table: "tickets", set: { state: "closed" }, limit: 3 },
    { reason: "They have been answered." },
  );
  const body =
    "Dear Ada,\n\nplease find the invoice for October attached.\nIt is due within 14 days.\n\nKind regards\nBilling";
  const mail = await postern.ask(
    "send_email",
    { to: "ada@example.org", subject: "Invoice 1042", body },
    { ...run, reason: "The user asked me to send the October invoices." },
  );
  const unused = await postern.ask("post_text", { text: "to the press" }, { reason: "It was promised for today." });
  await remembered(postern, unused);
  return { mail, critical, edits, quorum, unused };
}

/** A script that has read, and waits for approval before it writes. */
async function script(postern: RuntimeFixture): Promise<void> {
  const code = [
    "// Remind customers of open invoices.",
    'const reply = await tools.everything.echo({ message: "invoice 1041 is open" });',
    'if (reply.text.includes("open")) {',
    '  await tools.send_email({ to: "bob@example.org", subject: "Invoice 1041", body: reply.text });',
    "}",
    "({ reminded: 1 })",
  ].join("\n");
  await postern.call("tool_chain", { code, language: "javascript" }, { run_id: "run-late-invoices" });
}

/** A script that has ended: one line calls in a loop, one fails. */
async function ranScript(postern: RuntimeFixture): Promise<void> {
  const code = [
    "// Ask for the time eight times.",
    "const times = [];",
    "for (let i = 0; i < 8; i += 1) times.push((await tools.clock_now({ number: i })).text);",
    "try {",
    "  await tools.flaky_fetch({});",
    "} catch (problem) {",
    '  console.log("nothing fetched:", problem.code);',
    "}",
    'const reply = await tools.everything.echo({ message: "eight of them" });',
    "console.log(reply.text);",
    "({ times: times.length, last: times.at(-1), reply })",
  ].join("\n");
  await postern.call("tool_chain", { code, language: "javascript" }, { run_id: "run-clocks" });
}

/** Approves a request and remembers the approval. */
async function remembered(postern: RuntimeFixture, id: string): Promise<void> {
  const remember = {
    scope: { arguments: { "$.text": { equals: "to the press" } } },
    for: "run",
    reason: "It is one text.",
  };
  await postern.operator("POST", `/v1/approvals/${id}/approve`, { remember });
}

async function decided(postern: RuntimeFixture, tool: string, given: object, verb: "approve" | "deny"): Promise<void> {
  const run = { run_id: "run-invoices" };
  await postern.operator("POST", `/v1/approvals/${await postern.ask(tool, given, run)}/${verb}`, {});
  await postern.call(tool, given, run);
}
