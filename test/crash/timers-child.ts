/** Runs one script that gives a call up after 20 ms, and kills itself at the n-th moment at which data could be lost; 0 means never. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";

const [folder = "", at = "0", engine = ""] = process.argv.slice(2);
let moment = 0;
const givenUp = Promise.withResolvers<void>();

function passing(): void {
  moment += 1;
  if (moment === Number(at)) process.kill(process.pid, "SIGKILL");
}

async function effect(given: unknown): Promise<string> {
  const { to } = given as { readonly to: string }; // the schema says so
  passing();
  appendFileSync(join(folder, "diary"), `${to}\n`);
  passing();
  if (to === "slow")
    await givenUp.promise; // it ends when the script has given it up
  else givenUp.resolve();
  passing();
  return `did ${to}`;
}

const work = {
  ...({ description: "Has an effect that is seen from outside.", effects: "write", idempotent: false } as const),
  input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  execute: effect,
} as const;
const javascript = `const late = new Promise((done) => setTimeout(done, 20, "too slow"));
  const first = await Promise.race([tools.work({ to: "slow" }).then((r) => r.text, (e) => e.code), late]);
  await tools.work({ to: first }).catch((e) => e.code);
  await tools.post({ to: "after" }).catch((e) => e.code);
  first`;
const python = `import asyncio
try:
    first = (await asyncio.wait_for(tools.work(to="slow"), 0.02)).text
except asyncio.TimeoutError:
    first = "too slow"
except ToolError as error:
    first = error.code
for tool, to in [(tools.work, first), (tools.post, "after")]:
    try:
        tool(to=to)
    except ToolError:
        pass
first`;
const language = engine === "quickjs" ? "javascript" : "python";
const code = language === "python" ? python : javascript;

const runtime = await createRuntime({
  store: `sqlite:${join(folder, "postern.db")}`,
  tools: [defineTool({ ...work, name: "work", risk: "safe" }), defineTool({ ...work, name: "post", risk: "high" })],
  chains: { engines: [engine] },
  approvals: { patience: "suspend" },
});
for (;;) {
  const outcome = await runtime.runChain({ code, language }, { idempotencyKey: "script" });
  passing();
  if (outcome.status !== "pending") {
    process.stdout.write(
      `${JSON.stringify({ moments: moment, status: outcome.status, result: outcome.structured })}\n`,
    );
    break;
  }
  givenUp.resolve();
  await runtime.approvals.decide(outcome.approvalId ?? "", { decision: "approved", by: { user: "boss" } });
  passing();
}
await runtime.close();
