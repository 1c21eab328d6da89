/** Grants and delegations as they are spelled outside. */
import type { Delegation } from "../approvals/delegations.ts";
import type { Grant, GrantState, Remember } from "../approvals/grant.ts";
import type { Risk } from "../calls/call.ts";
import { toCamelCase, toSnakeCase } from "../calls/case.ts";
import type { JsonObject } from "../calls/json.ts";
import type { Conditions } from "../policy/rules/condition.ts";
import { policyOpaque } from "../policy/schema.ts";
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
  readonly via: string;
  readonly on_behalf_of?: string | undefined;
  readonly at: string;
  readonly approval_id: string;
  readonly risk_level: Risk;
  readonly definition: string;
  /** The rules whose question it answers. */
  readonly answers: readonly string[];
  readonly uses: number;
  readonly last_used_at?: string | undefined;
  readonly revoked?:
    | { readonly by: string; readonly via: string; readonly at: string; readonly reason?: string | undefined }
    | undefined;
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
      arguments: conditions && (toSnakeCase(conditions, policyOpaque) as JsonObject), // conditions are plain JSON
    },
    granted_to: { ...grant.principal },
    for: grant.for,
    run_id: grant.runId,
    until: iso(grant.until),
    reason: grant.reason,
    by: grant.by,
    via: grant.via,
    on_behalf_of: grant.onBehalfOf,
    at: iso(grant.at),
    approval_id: grant.approvalId,
    risk_level: grant.risk,
    definition: grant.definition,
    answers: grant.asks,
    uses: grant.uses,
    last_used_at: isoOrNothing(grant.lastUsedAt),
    revoked: revoked && { by: revoked.by, via: revoked.via, at: iso(revoked.at), reason: revoked.reason },
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
      ...(conditions !== undefined && { arguments: toCamelCase(conditions, policyOpaque) as Conditions }), // checked when the grant is made
    },
    for: span,
    reason,
  };
}

export interface DelegationWire {
  readonly delegation_id: string;
  readonly status: "live" | "over" | "revoked";
  readonly from: string;
  /** The credential it was given with. */
  readonly via: string;
  readonly to: string;
  readonly until: string;
  readonly reason?: string | undefined;
  readonly at: string;
  readonly revoked?: { readonly by: string; readonly via?: string | undefined; readonly at: string } | undefined;
  /** Whether who asks may end it. */
  readonly ends?: true | undefined;
}

export function delegationToWire(delegation: Delegation, isLive: boolean, ends: boolean): DelegationWire {
  const { id, from, via, to, until, reason, at, revoked } = delegation;
  return {
    delegation_id: id,
    status: isLive ? "live" : revoked === undefined ? "over" : "revoked",
    from,
    via,
    to,
    until: iso(until),
    reason,
    at: iso(at),
    revoked: revoked && { by: revoked.by, via: revoked.via, at: iso(revoked.at) },
    ...(ends && { ends }),
  };
}
