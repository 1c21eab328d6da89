/** What the address of each screen holds beside its path. A value that a screen does not know is left out. */
import { autonomies, callStates, defined, risks } from "@postern/core";

type Given = Readonly<Record<string, unknown>>;
type Members = Readonly<Record<string, (value: unknown) => unknown>>;
type Address<M extends Members> = { readonly [Name in keyof M]?: ReturnType<M[Name]> };

/** The router reads a text of digits as a number. */
function textIn(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function oneOf<Word extends string | true>(...words: readonly Word[]) {
  return (value: unknown): Word | undefined => words.find((word) => word === value);
}

function addressOf<M extends Members>(members: M) {
  return (given: Given): Address<M> => {
    const read = Object.entries(members).map(([name, read]) => [name, read(given[name])]);
    return defined(Object.fromEntries(read)); // as the members have read it
  };
}

/** Named as the query of `GET /v1/approvals`. Without a state, what waits; `approved`: approved and not run yet. */
export const approvalsAddress = addressOf({
  state: oneOf("decided", "approved"),
  risk: oneOf(...risks),
  mine: oneOf(true),
  tool: textIn,
  agent: textIn,
  run_id: textIn,
  search: textIn,
});
export type ApprovalsAddress = ReturnType<typeof approvalsAddress>;

/** `call`: the call of the run that is open. */
export const runsAddress = addressOf({ search: textIn, call: textIn });

/** Named as the query of `GET /v1/calls`. */
export const callsAddress = addressOf({
  search: textIn,
  state: oneOf(...callStates),
  tool: textIn,
  run_id: textIn,
  since: textIn,
});

export const rangeNames = ["hour", "day", "week", "month"] as const;
export type RangeName = (typeof rangeNames)[number];

/** `range`: of its numbers; without it, a day. */
export const overviewAddress = addressOf({ range: oneOf(...rangeNames) });

/** `again`: the call whose input fills the form of *Try it*. */
export const toolsAddress = addressOf({
  search: textIn,
  tab: oneOf("about", "schema", "definition", "try"),
  action: textIn,
  again: textIn,
});
export type ToolsAddress = ReturnType<typeof toolsAddress>;

/** `call`: the past call that is explained. `agent`, `autonomy`: whose effective policy is shown. */
export const policyAddress = addressOf({ call: textIn, agent: textIn, autonomy: oneOf(...autonomies) });
export type PolicyAddress = ReturnType<typeof policyAddress>;

/** Named as the query of `GET /v1/audit/latest`. */
export const auditAddress = addressOf({
  text: textIn,
  type: textIn,
  tool: textIn,
  outcome: textIn,
  by: textIn,
  agent: textIn,
  run_id: textIn,
  trace_id: textIn,
  call_id: textIn,
  since: textIn,
  until: textIn,
});

export type AuditAddress = ReturnType<typeof auditAddress>;

/** `problem`: a code that says why the sign-in at a provider failed. */
export const signInAddress = addressOf({ problem: textIn });

/** `person`: whose account is open. */
export const peopleAddress = addressOf({ person: textIn });

/** `sign_in`: how a sign-in at a server ended. */
export const connectionsAddress = addressOf({ sign_in: textIn });
