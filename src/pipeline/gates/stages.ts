/**
 * What a call has passed. Each gate returns a new object: the call and what the gate learned of it.
 *
 * Invariant: the brands add up, so a later stage is also every earlier one and nothing skips a gate. Only the gate that
 * is named may write `as XCall` (test/layers.test.ts reads every file for it).
 * Next: the gates in their order: budget, lookup, arguments, verdict, once, approval, claim.
 */
import type { Risk, ToolCall, Verdict } from "../../core/call.ts";
import type { CallRecord } from "../../core/records.ts";
import type { Decision, Facts, Suggestion } from "../../policy/policy.ts";
import type { Action } from "../../tools/tool.ts";
import type { Past } from "../ledger.ts";
import type { ResolvedArguments } from "./references.ts";

declare const passed: unique symbol;
type Passed<Gate extends string> = { readonly [passed]: { readonly [G in Gate]: true } };

export type CountedCall = ToolCall & Passed<"budget">;
export type FoundCall = CountedCall & Passed<"lookup"> & { readonly found: Action };
export type ValidCall = FoundCall &
  Passed<"arguments"> & {
    /** What the schema made of the arguments. With `references`: made again where the bytes are. */
    readonly input: unknown;
    /** Digests of the artifacts the arguments name. */
    readonly references: readonly string[];
    /** The arguments with the content of the artifacts they name, until a person is asked or the call is claimed. None: they name none. */
    readonly resolved?: ResolvedArguments | undefined;
    /** What guardrails found in the arguments. None: there are none. */
    readonly findings?: Facts["findings"];
  };
export type WeighedCall = ValidCall &
  Passed<"verdict"> & {
    readonly verdict: Exclude<Verdict, "BLOCK">;
    readonly risk: Risk;
    readonly weighing: Decision;
    readonly suggestion: Suggestion | undefined;
    /** What it was weighed over, when a rule looks back. */
    readonly past: Past | undefined;
  };
export type FreshCall = WeighedCall &
  Passed<"once"> & {
    readonly key: string;
    /** None: it is never found by its arguments. */
    readonly match: string | undefined;
    readonly record: CallRecord | undefined;
  };
export type ApprovedCall = FreshCall & Passed<"approval"> & { readonly approvalId: string | undefined };
export type ClaimedCall = ApprovedCall &
  Passed<"claim"> & { readonly claimed: CallRecord /** Monotonic milliseconds. */; readonly claimedAt: number };

/** A person was waited for, or changed the arguments: what the gates saw is old, so the call enters again. */
export interface Again {
  readonly again: ToolCall;
}

export function isAgain(value: object): value is Again {
  return "again" in value;
}
