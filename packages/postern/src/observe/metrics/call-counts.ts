import { type ApprovalEndName, type CallEvent, type CallStatus, refusals, type ToolCall } from "@postern/core";
import { Timings } from "../../system/timings.ts";

/** How a call left: its status, and `unknown` for an execution whose end is not known. */
export type LeftAs = CallStatus | "unknown";

/** What counts as one tool. */
export interface CountedTool {
  /** Calls by `outcome`, then by `via`. */
  readonly left: Map<LeftAs, Map<string, number>>;
  readonly executed: Timings;
}

/** The label of everything that has no label of its own. */
export const otherLabel = "other";
/** So many tools have a label of their own: those that are called first. */
export const mostTools = 200;

/** Seconds of an execution. */
const executedBounds = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600] as const;
const credentials: ReadonlySet<string> = new Set(["library", "token", "oauth", "session", "stdio"]);

/**
 * Counts the calls of this process. The event stream has only own events, so with several gateways on one store nothing
 * counts twice.
 *
 * Invariant: the number of labels is bounded, whatever names callers send.
 */
export class CallCounts {
  /** By label. */
  readonly tools: Map<string, CountedTool> = new Map();
  readonly refusals: Map<string, number> = new Map();
  readonly decisions: Map<ApprovalEndName, number> = new Map();
  /** Calls that were refused because their record could not be written. */
  unrecorded = 0;
  /** Calls that have arrived and not left: each holds a place of its session's budget. */
  inFlight = 0;
  readonly #hasTool: (name: string) => boolean;

  constructor(hasTool: (name: string) => boolean) {
    this.#hasTool = hasTool;
  }

  readonly see = (event: CallEvent): void => {
    switch (event.moment) {
      case "arrived":
        this.inFlight += 1;
        return;
      case "left":
        this.#left(event);
        return;
      case "ended":
        if (event.as === "succeeded" || event.as === "failed" || event.as === "unknown")
          this.#tool(event.call.tool).executed.add(event.latencyMs);
        return;
      case "decided":
        increase(this.decisions, event.as);
        return;
    }
  };

  #left({ call, outcome }: Extract<CallEvent, { readonly moment: "left" }>): void {
    this.inFlight -= 1;
    const code = outcome.refusal?.code;
    const as = code === "outcome_unknown" ? "unknown" : outcome.status;
    const { left } = this.#tool(call.tool);
    let byVia = left.get(as);
    if (byVia === undefined) {
      byVia = new Map();
      left.set(as, byVia);
    }
    increase(byVia, viaOf(call));
    if (code === undefined) return;
    increase(this.refusals, Object.hasOwn(refusals, code) ? code : otherLabel);
    if (code === "audit_unavailable" || code === "store_lost") this.unrecorded += 1;
  }

  #tool(name: string): CountedTool {
    const known = this.tools.get(name);
    if (known !== undefined) return known;
    const hasLabel = this.tools.size < mostTools && this.#hasTool(name);
    const label = hasLabel ? name : otherLabel;
    const counts = this.tools.get(label) ?? { left: new Map(), executed: new Timings(executedBounds) };
    this.tools.set(label, counts);
    return counts;
  }
}

function increase<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The kind of the credential, without its name; for calls from inside, what made them. */
function viaOf({ authority, parentId }: ToolCall): string {
  if (authority.fromChain === true) return "script";
  if (parentId !== undefined) return "tool";
  const [kind = ""] = (authority.principal.via ?? "library").split(":", 1);
  return credentials.has(kind) ? kind : otherLabel;
}
