/**
 * One process of the crash test: opens the store that earlier processes left, checks the invariants, then makes calls
 * until it is killed. `node child.ts FOLDER LIFE POINT NTH`. Exits with 3 and a message if an invariant is broken.
 */
import { existsSync, readFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import { createRuntime, type Runtime, SystemClock } from "../../packages/postern/src/index.ts";
import { openSqliteStore } from "../../packages/postern/src/store/sqlite/sqlite-store.ts";
import { payTool, record } from "./effects.ts";
import { killer, PointStore } from "./points.ts";

const [folder = ".", life = "0", point = "none", nth = "1"] = process.argv.slice(2);
const effectsFile = join(folder, "effects");
const acknowledgedFile = join(folder, "acknowledged");
const at = killer(point, Number(nth));
const context = { principal: { tenant: "default", agent: "crash" } } as const;

function lines(file: string): readonly string[] {
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];
}

const pay = payTool((bill) => {
  at("execute.before");
  record(effectsFile, bill);
  at("execute.after");
});

const clock = new SystemClock();
const store = new PointStore(
  await openSqliteStore({ location: join(folder, "postern.db"), clock, serialize: serializeWith((text) => text) }),
  at,
);
const runtime = await createRuntime({
  store,
  clock,
  tools: [pay],
  autonomy: Number(life) % 2 === 0 ? "A4" : "A2",
  folder,
  approvals: { patience: "suspend" },
});
flushCompileCache(); // Node does this itself only if the process is not killed
await check(runtime);
await sendAgain(runtime);
for (let i = 0; ; i += 1) await one(runtime, `${life}-${i}`);

/** Checks the invariants after a restart, before any new call. */
async function check(opened: Runtime): Promise<void> {
  const paid = lines(effectsFile);
  const twice = paid.filter((bill, i) => paid.indexOf(bill) !== i);
  if (twice.length > 0) fail(`paid twice: ${twice.join(", ")}`);
  for (const entry of lines(acknowledgedFile)) {
    const [key = "", bill = ""] = entry.split(" ");
    const call = await opened.calls.get(key);
    if (call?.state !== "ok") fail(`the acknowledged call ${key} of bill ${bill} is ${call?.state ?? "lost"}`);
    if (!paid.includes(bill)) fail(`bill ${bill} was acknowledged and not paid`);
  }
  const open = await opened.calls.list({ state: "attempted", limit: 10 });
  if (open.length > 0) fail(`still attempted after recovery: ${open.map(({ key }) => key).join(", ")}`);
  const audit = await opened.audit.verify();
  if (!audit.intact) fail(`the log is broken at ${audit.firstBroken}: ${audit.why}`);
  if (audit.outcome !== "ok") fail(`the log is not verified: ${audit.problems?.join(" ")}`);
}

/** Sends earlier calls again: each gets its outcome or `unknown`, and never pays a second time. */
async function sendAgain(opened: Runtime): Promise<void> {
  for (const call of await opened.calls.list({ tool: "pay", limit: 20 })) {
    if (call.state === "held") continue;
    const outcome = await opened.invoke(
      { tool: "pay", arguments: call.call.arguments },
      { ...context, idempotencyKey: call.call.idempotencyKey ?? "none" },
    );
    if (call.state === "unknown" && outcome.refusal?.code !== "outcome_unknown")
      fail(`an unknown call was answered with ${outcome.status}`);
    if (call.state === "ok" && outcome.replayed !== true)
      fail(`a finished call was not replayed but ${outcome.status}`);
  }
}

async function one(opened: Runtime, bill: string): Promise<void> {
  const request = { tool: "pay", arguments: { bill } };
  const per = { ...context, idempotencyKey: bill };
  let outcome = await opened.invoke(request, per);
  if (outcome.approvalId !== undefined) {
    await opened.approvals.decide(outcome.approvalId, { decision: "approved", by: { user: "boss" } });
    outcome = await opened.invoke(request, per);
  }
  if (outcome.status !== "ok") fail(`bill ${bill} ended as ${outcome.refusal?.code ?? outcome.status}`);
  const [{ key } = { key: "" }] = await opened.calls.list({ tool: "pay", limit: 1 });
  record(acknowledgedFile, `${key} ${bill}`);
  at("acknowledged");
}

function fail(why: string): never {
  console.error(why);
  process.exit(3);
}
