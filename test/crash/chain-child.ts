/** Runs one script in the folder it is given, and kills itself at the n-th moment that something could be lost; 0: at none. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineTool } from "../../src/index.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";

const [folder = "", at = "0"] = process.argv.slice(2);
let moment = 0;

function passing(): void {
  moment += 1;
  if (moment === Number(at)) process.kill(process.pid, "SIGKILL");
}

const input = { type: "object", properties: { to: { type: "string" } }, required: ["to"] } as const;
const effect = {
  description: "Has an effect that is seen from outside.",
  effects: "write",
  idempotent: false,
  input,
  execute: (given: unknown): string => {
    const { to } = given as { readonly to: string }; // the schema says so
    passing();
    appendFileSync(join(folder, "diary"), `${to}\n`);
    passing();
    return `did ${to}`;
  },
} as const;

const engine = fakeDriver({
  durability: process.argv[4] === "replay" ? "replay" : "snapshot",
  started: passing,
  step: (step) => {
    passing();
    return step;
  },
});
const code = `const out = [];
  for (const [tool, to] of [["work", "a"], ["work", "b"], ["mail", "c"], ["work", "d"]])
    try { out.push((await call(tool, { to })).text); } catch (error) { out.push(error.code); }
  return out.join();`;

const runtime = await createRuntime({
  store: `sqlite:${join(folder, "postern.db")}`,
  tools: [defineTool({ ...effect, name: "work", risk: "safe" }), defineTool({ ...effect, name: "mail", risk: "high" })],
  chains: { drivers: [engine], engines: [engine.name] },
  approvals: { patience: "suspend" },
});
for (;;) {
  const outcome = await runtime.runChain({ code, language: "javascript" }, { idempotencyKey: "script" });
  passing();
  if (outcome.status !== "pending") {
    process.stdout.write(
      `${JSON.stringify({ moments: moment, status: outcome.status, result: outcome.structured })}\n`,
    );
    break;
  }
  await runtime.approvals.decide(outcome.approvalId ?? "", { decision: "approved", by: { user: "boss" } });
  passing();
}
await runtime.close();
