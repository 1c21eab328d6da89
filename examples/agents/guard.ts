/** A plain function behind the gate. */

import { guard } from "@postern/agents";
import { CallRefused, createRuntime } from "postern";
import { z } from "zod";

await using runtime = await createRuntime({ approvals: { patience: "suspend" } });

const sendEmail = guard(
  runtime,
  {
    ...{ name: "send_email", description: "Sends a mail.", risk: "high", effects: "write", idempotent: false },
    input: z.object({ to: z.string() }),
  },
  async ({ to }) => {
    console.log(`(a mail leaves for ${to})`);
    return { sentTo: to };
  },
);

const mail = { to: "ada@example.org" };
try {
  await sendEmail(mail);
} catch (error) {
  if (!(error instanceof CallRefused)) throw error;
  console.log(error.code); // pending
}

// In production a person does this on a page of yours.
const [request] = await runtime.approvals.list({ state: "pending" });
await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });

console.log(await sendEmail(mail)); // the same call again: it runs once
console.log(await sendEmail(mail)); // its kept result
