import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { defineTool } from "../../packages/postern/src/index.ts";

/** Appends a line to a file and syncs it: the record of real effects, kept outside of Postern. */
export function record(file: string, line: string): void {
  const handle = openSync(file, "a");
  writeSync(handle, `${line}\n`);
  fdatasyncSync(handle);
  closeSync(handle);
}

/** A tool `pay` with an effect that must not happen twice. */
export function payTool(pay: (bill: string) => void | Promise<void>): ReturnType<typeof defineTool> {
  return defineTool({
    name: "pay",
    description: "Pays once.",
    risk: "high",
    effects: "write",
    idempotent: false,
    input: { type: "object", properties: { bill: { type: "string" } }, required: ["bill"] },
    async execute(given) {
      await pay((given as { readonly bill: string }).bill); // the schema says so
      return "paid";
    },
  });
}
