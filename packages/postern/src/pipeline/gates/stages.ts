/**
 * The stages of a call. Each gate returns a new object: the call and what the gate added.
 *
 * Invariant: a later stage is also every earlier one, so no call skips a gate. Only the named gate may write `as XCall`
 * (test/layers.test.ts checks it).
 * Next: the gates in their order: budget, lookup, arguments, verdict, once, approval, claim.
 */
import type { CallRecord, Risk, ToolCall, Verdict } from "@postern/core";
import type { PolicySet } from "../../policy/current-policy.ts";
import type { Decision, Facts, Suggestion } from "../../policy/policy.ts";
import type { Action } from "../../tools/tool.ts";
import type { Past } from "../ledger.ts";
import type { UsedArtifacts } from "../result-bytes.ts";
import type { ResolvedArguments } from "./references.ts";

declare const passed: unique symbol;
type Passed<Gate extends string> = { readonly [passed]: { readonly [G in Gate]: true } };

export type CountedCall = ToolCall & Passed<"budget">;
export type FoundCall = CountedCall & Passed<"lookup"> & { readonly found: Action };
export type ValidCall = FoundCall &
  Passed<"arguments"> & {
    /** The arguments as the schema parsed them. With `references` they are parsed again once the bytes are there. */
    readonly input: unknown;
    /** Digests of the artifacts the arguments name. */
    readonly references: readonly string[];
    /** The arguments with the content of the artifacts they name, until the call waits or is claimed. Undefined if they name none. */
    readonly resolved?: ResolvedArguments | undefined;
    /** What guardrails found in the arguments; undefined without guardrails. */
    readonly findings?: Facts["findings"];
  };
export type WeighedCall = ValidCall &
  Passed<"verdict"> & {
    readonly verdict: Exclude<Verdict, "BLOCK">;
    readonly risk: Risk;
    readonly weighing: Decision;
    readonly suggestion: Suggestion | undefined;
    /** The past calls that the verdict depends on, if a rule looks back. */
    readonly past: Past | undefined;
    readonly judgedBy: PolicySet;
  };
export type FreshCall = WeighedCall &
  Passed<"once"> & {
    readonly key: string;
    /** Undefined if the call cannot be found by its arguments. */
    readonly match: string | undefined;
    readonly record: CallRecord | undefined;
  };
export type ApprovedCall = FreshCall &
  Passed<"approval"> & {
    readonly approvalId: string | undefined;
    /** What the person who approved changed or said; the outcome says it. */
    readonly notes?: readonly string[];
  };
export type ClaimedCall = ApprovedCall &
  Passed<"claim"> & {
    readonly claimed: CallRecord;
    /** Monotonic milliseconds. */
    readonly claimedAt: number;
    /** Filled while the tool runs. */
    readonly artifacts: UsedArtifacts;
  };

/** The call enters the gates again, because a person was waited for or changed the arguments. */
export interface Again {
  readonly again: ToolCall;
}

export function isAgain(value: object): value is Again {
  return "again" in value;
}
