/** Runs one script in the folder it is given, and kills itself at the n-th moment that something could be lost; 0: at none. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { SystemClock } from "../../src/calls/clock.ts";
import { knownEngines } from "../../src/chains/known-engines.ts";
import type { SandboxDriver, SandboxSession } from "../../src/chains/sandbox.ts";
import { createRuntime, defineTool } from "../../src/index.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";

const [folder = "", at = "0", durability = ""] = process.argv.slice(2);
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

/** The engine itself, with a moment at each step of it. */
function passed(session: SandboxSession): SandboxSession {
  return {
    next: async () => {
      const step = await session.next();
      passing();
      return step;
    },
    settle: (results) => session.settle(results),
    freeze: () => session.freeze(),
    kill: () => session.kill(),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

async function quickjs(): Promise<SandboxDriver & AsyncDisposable> {
  const driver = await knownEngines.get("quickjs")?.(new SystemClock());
  if (driver === undefined) throw new Error("There is no engine `quickjs`.");
  const { name, engine: build, capabilities } = driver;
  return {
    ...{ name, engine: build, capabilities, unavailable: () => driver.unavailable() },
    start: async (...given) => passed(await driver.start(...given)),
    restore: async (...given) => passed(await driver.restore(...given)),
    [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose](),
  };
}

const engine =
  durability === "quickjs"
    ? await quickjs()
    : fakeDriver({
        durability: durability === "replay" ? "replay" : "snapshot",
        started: passing,
        step: (step) => {
          passing();
          return step;
        },
      });
const words =
  durability === "quickjs"
    ? "const call = (tool, given) => tools[tool](given); const host = (_, { text }) => progress(text);"
    : "";
const code = `${words} const out = [];
  for (const [tool, to] of [["work", "a"], ["work", "b"], ["mail", "c"], ["work", "d"]]) {
    await host("progress", { text: "on the way" });
    try { await call("work", { to: 5 }); } catch {}
    try { out.push((await call(tool, { to })).text); } catch (error) { out.push(error.code); }
  }
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
