import type { Delegation, Grant } from "../../contract/grants.ts";
import { actionText } from "../../said.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { paintRisk } from "../terminal.ts";
import { actorText, minuteOf, relative, table } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";
import { later, oneOf } from "./typed.ts";

export interface GrantFlags extends GlobalFlags {
  readonly state?: string;
  readonly reason?: string;
}

export interface DelegateFlags extends GlobalFlags {
  readonly until?: string;
  readonly reason?: string;
}

export async function listGrants(host: Host, flags: GrantFlags): Promise<ExitCode> {
  const state = oneOf(flags.state ?? "live", ["live", "over", "revoked", "void", "all"] as const, "--state");
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const { grants } = await work.operator.api.grants.list(state === "all" ? {} : { state });
    if (work.json) printJson(work, { grants });
    else if (grants.length === 0) work.terminal.out(state === "all" ? "No grants yet.\n" : `No grants are ${state}.\n`);
    else work.terminal.out(grantTable(work, grants));
    return exitCodes.ok;
  });
}

function grantTable({ paint, terminal, now }: Work, grants: readonly Grant[]): string {
  const rows = grants.map(
    ({ grant_id, scope, risk_level: risk, granted_to, until, uses, status, silent, by, via, reason }) => [
      grant_id,
      actionText(scope),
      { text: risk, paint: (text: string) => text.replace(risk, paintRisk(paint, risk)) },
      granted_to.agent,
      silent !== undefined ? "does not count" : status === "live" ? relative(Date.parse(until), now()) : status,
      String(uses),
      actorText(by, via),
      scope.arguments === undefined ? "any" : JSON.stringify(scope.arguments),
      reason,
    ],
  );
  const heads = ["GRANT", "TOOL", "UP TO", "FOR", "ENDS", "USES", "BY", "ARGUMENTS", "REASON"];
  return table(heads, rows, { terminal, paint });
}

export async function revokeGrant(host: Host, id: string, flags: GrantFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const grant = await work.operator.api.grants.revoke({ id, reason: flags.reason });
    if (work.json) printJson(work, grant);
    else work.terminal.out(`Revoked ${grant.grant_id}. People are asked about such calls again.\n`);
    return exitCodes.ok;
  });
}

export async function delegate(host: Host, to: string, flags: DelegateFlags): Promise<ExitCode> {
  if (to === "" || flags.until === undefined)
    throw new UsageProblem("Say who decides in your place, and until when: `approvals delegate USER --until 7d`.");
  const until = later(flags.until, "--until", host.clock.now());
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const made = await work.operator.api.delegations.create({ to, until, reason: flags.reason });
    if (work.json) printJson(work, made);
    else
      work.terminal.out(
        `${made.to} decides in the place of ${made.from} until ${minuteOf(made.until)} (${made.delegation_id}).\n`,
      );
    return exitCodes.ok;
  });
}

export async function listDelegations(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const { delegations } = await work.operator.api.delegations.list();
    if (work.json) printJson(work, { delegations });
    else if (delegations.length === 0) work.terminal.out("Nobody decides in anybody's place.\n");
    else work.terminal.out(delegationTable(work, delegations));
    return exitCodes.ok;
  });
}

function delegationTable({ paint, terminal }: Work, delegations: readonly Delegation[]): string {
  const rows = delegations.map(({ delegation_id, from, to, until, status, reason = "" }) => [
    delegation_id,
    from,
    to,
    status === "live" ? minuteOf(until) : status,
    reason,
  ]);
  return table(["DELEGATION", "FROM", "TO", "UNTIL", "REASON"], rows, { terminal, paint });
}

export async function endDelegation(host: Host, id: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const ended = await work.operator.api.delegations.revoke({ id });
    if (work.json) printJson(work, ended);
    else work.terminal.out(`${ended.to} does not decide in the place of ${ended.from} any more.\n`);
    return exitCodes.ok;
  });
}
