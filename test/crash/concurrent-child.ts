/**
 * Makes calls from many callers at once until it is killed. `node concurrent-child.ts FOLDER`: each effect is on disk as a
 * line of `effects` before its tool continues, each outcome as a line of `acknowledged`. The last calls never end.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineTool } from "../../src/index.ts";

const [folder = "."] = process.argv.slice(2);

function record(file: string, line: string): void {
  const handle = openSync(join(folder, file), "a");
  writeSync(handle, `${line}\n`);
  fdatasyncSync(handle);
  closeSync(handle);
}

const pay = defineTool({
  name: "pay",
  description: "Pays once.",
  risk: "high",
  effects: "write",
  idempotent: false,
  input: { type: "object", properties: { bill: { type: "string" } }, required: ["bill"] },
  async execute(given) {
    const { bill } = given as { readonly bill: string }; // the schema says so
    record("effects", bill);
    if (bill.startsWith("late")) await new Promise(() => {});
    return "paid";
  },
});

const runtime = await createRuntime({ store: `sqlite:${join(folder, "postern.db")}`, tools: [pay], autonomy: "A4" });
const hold = setInterval(() => {}, 1000);
const bills = Array.from({ length: 8 }, (_, i) => [`early-${i}`, `late-${i}`]).flat();
await Promise.all(
  bills.flatMap((bill) =>
    Array.from({ length: 3 }, async () => {
      const principal = { tenant: "default", agent: "crash" } as const;
      const outcome = await runtime.invoke({ tool: "pay", arguments: { bill } }, { principal, idempotencyKey: bill });
      if (outcome.status === "ok") record("acknowledged", bill);
    }),
  ),
);
clearInterval(hold);
