import type { ToolCall } from "../../src/calls/call.ts";
import type { Weighing } from "../../src/calls/event.ts";
import { CallIds } from "../../src/calls/ids.ts";
import { sha256 } from "../../src/calls/json.ts";

const ids = new CallIds();

/** A call as it arrives; a test names only what it is about. */
export function aCall({
  number = 1,
  tool = "echo",
  runId = "run_1",
}: {
  readonly number?: number;
  readonly tool?: string;
  readonly runId?: string;
} = {}): ToolCall {
  return {
    id: ids.make(Date.UTC(2026, 10, 20), number),
    number,
    tool,
    action: "default",
    arguments: {},
    text: "{}",
    digest: sha256("{}"),
    authority: {
      principal: { tenant: "acme", agent: "writer" },
      scopes: [],
      runId,
      traceId: "0".repeat(31).concat("1"),
    },
    arrivedAt: Date.UTC(2026, 10, 20),
  };
}

/** A verdict that a person must be asked for, and whose rules are told. */
export const aWeighing: Weighing = {
  verdict: "CONFIRM",
  risk: "high",
  reasons: [
    { rule: "matrix", says: "CONFIRM" },
    { rule: "mail", says: "RAISE", where: "postern.yaml:7" },
  ],
  policyVersion: "p1",
};
