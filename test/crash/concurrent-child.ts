/**
 * Makes calls from many callers at once until it is killed. `node concurrent-child.ts FOLDER`: each effect is on disk as a
 * line of `effects` before its tool continues, each outcome as a line of `acknowledged`. The last calls never end.
 */
import { join } from "node:path";
import { createRuntime } from "../../packages/postern/src/index.ts";
import { payTool, record } from "./effects.ts";

const [folder = "."] = process.argv.slice(2);

const pay = payTool(async (bill) => {
  record(join(folder, "effects"), bill);
  if (bill.startsWith("late")) await new Promise(() => {});
});

const runtime = await createRuntime({ store: `sqlite:${join(folder, "postern.db")}`, tools: [pay], autonomy: "A4" });
const hold = setInterval(() => {}, 1000);
const bills = Array.from({ length: 8 }, (_, i) => [`early-${i}`, `late-${i}`]).flat();
await Promise.all(
  bills.flatMap((bill) =>
    Array.from({ length: 3 }, async () => {
      const principal = { tenant: "default", agent: "crash" } as const;
      const outcome = await runtime.invoke({ tool: "pay", arguments: { bill } }, { principal, idempotencyKey: bill });
      if (outcome.status === "ok") record(join(folder, "acknowledged"), bill);
    }),
  ),
);
clearInterval(hold);
