/** Runs one script in the given folder and kills itself at the n-th moment at which data could be lost; 0 means never. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { SystemClock } from "../../packages/core/src/clock.ts";
import type { SandboxDriver, SandboxSession } from "../../packages/core/src/sandbox/sandbox.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";

const [folder = "", at = "0", which = ""] = process.argv.slice(2);
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

/** Wraps a session so that each of its steps is a moment. */
function passed(session: SandboxSession): SandboxSession {
  return {
    next: async (passedMs) => {
      const step = await session.next(passedMs);
      passing();
      return step;
    },
    settle: (results) => session.settle(results),
    freeze: () => session.freeze(),
    kill: () => session.kill(),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

/** Returns a real engine by its name. */
async function real(named: string): Promise<SandboxDriver & AsyncDisposable> {
  const driver = await knownEngines.get(named)?.(new SystemClock());
  if (driver === undefined) throw new Error(`There is no engine \`${named}\`.`);
  const { name, capabilities } = driver;
  return {
    ...{ name, capabilities, unavailable: () => driver.unavailable() },
    get engine() {
      return driver.engine; // known when it has checked something
    },
    check: async (...given) => driver.check?.(...given),
    start: async (...given) => passed(await driver.start(...given)),
    restore: async (...given) => passed(await driver.restore(...given)),
    [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose](),
  };
}

const isFake = which === "snapshot" || which === "replay";
const engine = isFake
  ? fakeDriver({
      durability: which,
      started: passing,
      step: (step) => {
        passing();
        return step;
      },
    })
  : await real(which);
const { language } = engine.capabilities;
const words = isFake
  ? ""
  : "const call = (tool, given) => tools[tool](given); const host = (_, { text }) => progress(text);";
const javascript = `${words} const out = [];
  for (const [tool, to] of [["work", "a"], ["work", "b"], ["mail", "c"], ["work", "d"]]) {
    await host("progress", { text: "on the way" });
    try { await call("work", { to: 5 }); } catch {}
    try { out.push((await call(tool, { to })).text); } catch (error) { out.push(error.code); }
  }
  return out.join();`;
const python = `import json
out = []
for name, to in [("work", "a"), ("work", "b"), ("mail", "c"), ("work", "d")]:
    progress("on the way")
    try:
        tools.work(to=json.loads("5"))
    except Exception:
        pass
    try:
        if name == "work":
            out.append(tools.work(to=to).text)
        else:
            out.append(tools.mail(to=to).text)
    except Exception as error:
        out.append("outcome_unknown" if "may have happened" in str(error) else str(error))
",".join(out)`;
const code = language === "python" ? python : javascript;

const runtime = await createRuntime({
  store: `sqlite:${join(folder, "postern.db")}`,
  tools: [defineTool({ ...effect, name: "work", risk: "safe" }), defineTool({ ...effect, name: "mail", risk: "high" })],
  chains: { drivers: [engine], engines: [engine.name] },
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
  await runtime.approvals.decide(outcome.approvalId ?? "", { decision: "approved", by: { user: "boss" } });
  passing();
}
await runtime.close();
