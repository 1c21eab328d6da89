import type { RuntimeFixture, Ways } from "./console-fixture.ts";

/** Requests that wait. */
export interface Shown {
  readonly mail: string;
  readonly critical: string;
  /** One of several alike. */
  readonly edits: string;
  /** Two must agree. */
  readonly quorum: string;
  /** It was approved, and has not run. */
  readonly unused: string;
}

/** How the runtime is set up in which it happens. */
export const ways: Ways = {
  server: true,
  approvals: "  routes: [{ name: two-people, match: { tools: [update_rows] }, quorum: 2 }]\n",
};

/** A runtime in which something has happened: what screenshots show. */
export async function scene(house: RuntimeFixture): Promise<Shown> {
  const run = { run_id: "run-invoices" };
  for (let number = 0; number < 6; number += 1) await house.call("clock_now", { number }, run);
  await house.call("everything__echo", { message: "hello" }, run);
  for (let number = 0; number < 2; number += 1) await house.call("flaky_fetch", { number }, run);
  await decided(house, "edit_file", { path: "invoices/1041.md", from: "status: draft", to: "status: sent" }, "approve");
  await decided(house, "post_text", { text: "to everybody" }, "deny");
  await script(house);
  await ranScript(house);
  for (let number = 2; number < 7; number += 1) await house.call("flaky_fetch", { number }, run);
  const critical = await house.ask(
    "transfer_money",
    { to: "DE89 3704 0044 0532 0130 00", amount: 1240.5 },
    { ...run, reason: "The invoice is due today and the user said to pay what is due." },
  );
  let edits = "";
  for (let number = 1; number <= 3; number += 1) {
    const given = { path: `deploy/region-${number}.yaml`, from: "  replicas: 2", to: "  replicas: 20" };
    edits = await house.ask("edit_file", given, {
      run_id: "run-deploy",
      reason: "Traffic is expected to grow tenfold.",
    });
  }
  const quorum = await house.ask(
    "update_rows",
    { table: "tickets", set: { state: "closed" }, limit: 3 },
    { reason: "They have been answered." },
  );
  const body =
    "Dear Ada,\n\nplease find the invoice for October attached.\nIt is due within 14 days.\n\nKind regards\nBilling";
  const mail = await house.ask(
    "send_email",
    { to: "ada@example.org", subject: "Invoice 1042", body },
    { ...run, reason: "The user asked me to send the October invoices." },
  );
  const unused = await house.ask("post_text", { text: "to the press" }, { reason: "It was promised for today." });
  await remembered(house, unused);
  return { mail, critical, edits, quorum, unused };
}

/** A script that has read, and waits for somebody before it writes. */
async function script(house: RuntimeFixture): Promise<void> {
  const code = [
    "// Tell everybody who is late.",
    'const heard = await tools.everything.echo({ message: "invoice 1041 is open" });',
    'if (heard.text.includes("open")) {',
    '  await tools.send_email({ to: "bob@example.org", subject: "Invoice 1041", body: heard.text });',
    "}",
    "({ told: 1 })",
  ].join("\n");
  await house.call("tool_chain", { code, language: "javascript" }, { run_id: "run-late-invoices" });
}

/** One that has ended: each of its lines called, one in a circle, one for nothing. */
async function ranScript(house: RuntimeFixture): Promise<void> {
  const code = [
    "// Ask for the time until it is known well.",
    "const times = [];",
    "for (let i = 0; i < 8; i += 1) times.push((await tools.clock_now({ number: i })).text);",
    "try {",
    "  await tools.flaky_fetch({});",
    "} catch (problem) {",
    '  console.log("nothing fetched:", problem.code);',
    "}",
    'const heard = await tools.everything.echo({ message: "eight of them" });',
    "console.log(heard.text);",
    "({ times: times.length, last: times.at(-1), heard })",
  ].join("\n");
  await house.call("tool_chain", { code, language: "javascript" }, { run_id: "run-clocks" });
}

/** A yes that holds for more than one call. */
async function remembered(house: RuntimeFixture, id: string): Promise<void> {
  const remember = {
    scope: { arguments: { "$.text": { equals: "to the press" } } },
    for: "run",
    reason: "It is one text.",
  };
  await house.operator("POST", `/v1/approvals/${id}/approve`, { remember });
}

async function decided(house: RuntimeFixture, tool: string, given: object, verb: "approve" | "deny"): Promise<void> {
  const run = { run_id: "run-invoices" };
  await house.operator("POST", `/v1/approvals/${await house.ask(tool, given, run)}/${verb}`, {});
  await house.call(tool, given, run);
}
