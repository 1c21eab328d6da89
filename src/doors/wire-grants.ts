/** Grants and delegations as they are spelled outside. */
import type { Delegation } from "../approvals/delegation.ts";
import type { Grant, Remember } from "../approvals/grant.ts";
import type { GrantState } from "../approvals/grants.ts";
import type { Risk } from "../calls/call.ts";
import { isJsonObject, type Json, type JsonObject } from "../calls/json.ts";
import type { Conditions } from "../policy/condition.ts";
import { iso, isoOrNothing, type PrincipalWire } from "./wire.ts";

export interface GrantWire {
  readonly grant_id: string;
  readonly status: GrantState;
  /** Why a live one answers nothing at present: its giver could not say yes today. */
  readonly silent?: string | undefined;
  readonly scope: { readonly tool: string; readonly action: string; readonly arguments?: JsonObject | undefined };
  readonly granted_to: PrincipalWire;
  readonly for: "run" | "session" | "time";
  readonly run_id?: string | undefined;
  readonly until: string;
  readonly reason: string;
  readonly by: string;
  readonly on_behalf_of?: string | undefined;
  readonly at: string;
  readonly approval_id: string;
  readonly risk_level: Risk;
  readonly definition: string;
  /** The rules whose question it answers. */
  readonly answers: readonly string[];
  readonly uses: number;
  readonly last_used_at?: string | undefined;
  readonly revoked?: { readonly by: string; readonly at: string; readonly reason?: string | undefined } | undefined;
}

export function grantToWire(grant: Grant, status: GrantState, silent?: string): GrantWire {
  const { revoked, arguments: conditions } = grant;
  return {
    grant_id: grant.id,
    status,
    silent,
    scope: {
      tool: grant.tool,
      action: grant.action,
      arguments: conditions && (respelled(conditions as unknown as Json, outside) as JsonObject), // conditions are plain JSON
    },
    granted_to: { ...grant.principal },
    for: grant.for,
    run_id: grant.runId,
    until: iso(grant.until),
    reason: grant.reason,
    by: grant.by,
    on_behalf_of: grant.onBehalfOf,
    at: iso(grant.at),
    approval_id: grant.approvalId,
    risk_level: grant.risk,
    definition: grant.definition,
    answers: grant.asks,
    uses: grant.uses,
    last_used_at: isoOrNothing(grant.lastUsedAt),
    revoked: revoked && { by: revoked.by, at: iso(revoked.at), reason: revoked.reason },
  };
}

export interface RememberWire {
  readonly scope?:
    | {
        readonly tool?: string | undefined;
        readonly action?: string | undefined;
        readonly arguments?: JsonObject | undefined;
      }
    | undefined;
  /** `until`: wall clock, milliseconds, read from ISO 8601. */
  readonly for: "run" | "session" | { readonly until: number };
  readonly reason: string;
}

/** What the conditions say is checked where they are compiled. */
export function rememberFromWire({ scope, for: span, reason }: RememberWire): Remember {
  if (scope === undefined) return { for: span, reason };
  const { tool, action, arguments: conditions } = scope;
  return {
    scope: {
      ...(tool !== undefined && { tool }),
      ...(action !== undefined && { action }),
      ...(conditions !== undefined && { arguments: respelled(conditions, inside) as unknown as Conditions }), // compileConditions judges it
    },
    for: span,
    reason,
  };
}

/** Every word of a condition that has two spellings; paths into arguments begin with `$` and are none of them. */
const inside: ReadonlyMap<string, string> = new Map([
  ["one_of", "oneOf"],
  ["ignore_case", "ignoreCase"],
  ["relative_to", "relativeTo"],
  ["at_least", "atLeast"],
  ["at_most", "atMost"],
]);
const outside: ReadonlyMap<string, string> = new Map([...inside].map(([wire, own]) => [own, wire]));

function respelled(value: Json, spellings: ReadonlyMap<string, string>): Json {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [spellings.get(key) ?? key, respelled(field, spellings)]),
  );
}

export interface DelegationWire {
  readonly delegation_id: string;
  readonly status: "live" | "over" | "revoked";
  readonly from: string;
  readonly to: string;
  readonly until: string;
  readonly reason?: string | undefined;
  readonly at: string;
  readonly revoked?: { readonly by: string; readonly at: string } | undefined;
}

export function delegationToWire(delegation: Delegation, isLive: boolean): DelegationWire {
  const { id, from, to, until, reason, at, revoked } = delegation;
  return {
    delegation_id: id,
    status: isLive ? "live" : revoked === undefined ? "over" : "revoked",
    from,
    to,
    until: iso(until),
    reason,
    at: iso(at),
    revoked: revoked && { by: revoked.by, at: iso(revoked.at) },
  };
}
