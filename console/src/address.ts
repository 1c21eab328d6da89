/** What the address of each screen holds beside its path. A value that a screen does not know is left out. */
import { autonomies, defined, type Risk, risks } from "@postern/core";

type Given = Readonly<Record<string, unknown>>;

/** The router reads a text of digits as a number. */
function textIn(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function oneOf<Word extends string>(words: readonly Word[], value: unknown): Word | undefined {
  return words.find((word) => word === value);
}

/** Named as the query of `GET /v1/approvals`. */
export interface ApprovalsAddress {
  /** Without it, what waits. `approved`: approved and not run yet. */
  readonly state?: "decided" | "approved" | undefined;
  readonly risk?: Risk | undefined;
  readonly mine?: true | undefined;
  readonly tool?: string | undefined;
  readonly agent?: string | undefined;
  readonly run_id?: string | undefined;
  readonly search?: string | undefined;
}

export function approvalsAddress({ state, risk, mine, tool, agent, run_id, search }: Given): ApprovalsAddress {
  return defined({
    state: oneOf(["decided", "approved"], state),
    risk: oneOf(risks, risk),
    mine: mine === true ? (true as const) : undefined,
    tool: textIn(tool),
    agent: textIn(agent),
    run_id: textIn(run_id),
    search: textIn(search),
  });
}

interface SearchAddress {
  readonly search?: string | undefined;
}

export interface RunsAddress extends SearchAddress {
  /** The call of the run that is open. */
  readonly call?: string | undefined;
}

export function runsAddress({ search, call }: Given): RunsAddress {
  return defined({ search: textIn(search), call: textIn(call) });
}

export const rangeNames = ["hour", "day", "week", "month"] as const;
export type RangeName = (typeof rangeNames)[number];

export interface OverviewAddress {
  /** Of its numbers; without it, a day. */
  readonly range?: RangeName | undefined;
}

export function overviewAddress({ range }: Given): OverviewAddress {
  return defined({ range: oneOf(rangeNames, range) });
}

const toolTabs = ["about", "schema", "definition", "try"] as const;

export interface ToolsAddress extends SearchAddress {
  readonly tab?: (typeof toolTabs)[number] | undefined;
  readonly action?: string | undefined;
}

export function toolsAddress({ search, tab, action }: Given): ToolsAddress {
  return defined({ search: textIn(search), tab: oneOf(toolTabs, tab), action: textIn(action) });
}

export interface PolicyAddress {
  /** The past call that is explained. */
  readonly call?: string | undefined;
  /** Whose effective policy is shown. */
  readonly agent?: string | undefined;
  readonly autonomy?: (typeof autonomies)[number] | undefined;
}

export function policyAddress({ call, agent, autonomy }: Given): PolicyAddress {
  return defined({ call: textIn(call), agent: textIn(agent), autonomy: oneOf(autonomies, autonomy) });
}

/** Named as the query of `GET /v1/audit/latest`. */
export const auditFilters = [
  "text",
  "type",
  "tool",
  "outcome",
  "by",
  "agent",
  "run_id",
  "trace_id",
  "call_id",
  "since",
  "until",
] as const;

export type AuditAddress = Readonly<Partial<Record<(typeof auditFilters)[number], string | undefined>>>;

export function auditAddress(given: Given): AuditAddress {
  return defined(Object.fromEntries(auditFilters.map((name) => [name, textIn(given[name])])));
}

export interface SignInAddress {
  /** A code: why the sign-in at a provider failed. */
  readonly problem?: string | undefined;
}

export function signInAddress({ problem }: Given): SignInAddress {
  return defined({ problem: textIn(problem) });
}

export interface ConnectionsAddress {
  /** How a sign-in at a server ended. */
  readonly sign_in?: string | undefined;
}

export function connectionsAddress({ sign_in }: Given): ConnectionsAddress {
  return defined({ sign_in: textIn(sign_in) });
}
