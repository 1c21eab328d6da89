import type { Announce, ProgressSink, ToolCall } from "@postern/core";
import type { ExecuteParts } from "./execute.ts";
import type { Executor } from "./executor.ts";
import type { ApprovalParts } from "./gates/approval.ts";
import type { ArgumentParts } from "./gates/arguments.ts";
import type { ClaimParts } from "./gates/claim.ts";
import type { LookupParts } from "./gates/lookup.ts";
import type { OnceParts } from "./gates/once.ts";
import type { RunParts } from "./gates/run.ts";
import type { VerdictParts } from "./gates/verdict.ts";
import type { RepeatParts } from "./repeated-refusals.ts";
import type { SettleParts } from "./settle.ts";

/** All dependencies of the path; each step names the ones it uses in its signature. */
export interface Parts
  extends RunParts,
    LookupParts,
    ArgumentParts,
    VerdictParts,
    OnceParts,
    ApprovalParts,
    ClaimParts,
    ExecuteParts,
    RepeatParts,
    SettleParts {
  readonly executor: Executor;
  readonly announce: Announce;
  /** Passes the progress of the call to `sink` until the call ends. */
  readonly listen: (call: ToolCall, sink: ProgressSink) => void;
  readonly log: (problem: string, call?: ToolCall) => void;
}
