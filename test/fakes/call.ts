import type { ToolCall } from "../../packages/core/src/call.ts";
import type { Weighing } from "../../packages/core/src/event.ts";
import { sha256 } from "../../packages/core/src/system/digest.ts";

/** Returns an arrived call; a test names only the fields it needs. */
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
    id: `call_019a9e5c-0000-7000-8000-${number.toString(16).padStart(12, "0")}`,
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

/** A CONFIRM verdict with its rules. */
export const aWeighing: Weighing = {
  verdict: "CONFIRM",
  risk: "high",
  reasons: [
    { rule: "matrix", effect: "CONFIRM" },
    { rule: "mail", effect: "RAISE", where: "postern.yaml:7" },
  ],
  policyVersion: "p1",
};
