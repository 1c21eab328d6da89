/**
 * The tools of the gateways and the worker. Each run is a line of the ledger, on disk before the tool goes on:
 * `BILL TOOL PROCESS`. The names say where a tool runs, and whether a person is asked.
 */
import { setTimeout as pause } from "node:timers/promises";
import { defineTool } from "../../../packages/postern/src/index.ts";
import { record } from "../effects.ts";

interface Given {
  readonly bill: string;
  readonly ms: number;
  readonly fails: boolean;
}

let runs = 0;
const at = (globalThis as { readonly crashPoint?: (point: string) => void }).crashPoint ?? (() => {});

function tool(name: string, more: { readonly risk: "medium" | "high"; readonly idempotent: boolean }) {
  return defineTool({
    ...{ name, description: "Writes a line into the ledger.", effects: "write", ...more },
    input: {
      type: "object",
      properties: { bill: { type: "string" }, ms: { type: "number" }, fails: { type: "boolean" } },
      required: ["bill", "ms", "fails"],
    },
    async execute(given) {
      const { bill, ms, fails } = given as unknown as Given; // the schema says so
      at("execute.before");
      record(process.env["CRASH_LEDGER"] ?? "", `${bill} ${name} ${process.pid}`);
      await pause(ms);
      at("execute.after");
      if (fails) throw new Error(`no luck with ${bill}`);
      runs += 1;
      return more.idempotent ? `noted ${bill}` : `paid ${bill} in run ${runs} of ${process.pid}`;
    },
  });
}

export const pay_here = tool("pay_here", { risk: "medium", idempotent: false });
export const ask_here = tool("ask_here", { risk: "high", idempotent: false });
export const note_here = tool("note_here", { risk: "medium", idempotent: true });
export const pay_there = tool("pay_there", { risk: "medium", idempotent: false });
export const ask_there = tool("ask_there", { risk: "high", idempotent: false });
export const note_there = tool("note_there", { risk: "medium", idempotent: true });
