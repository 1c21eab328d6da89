import type { ListedTokenWire } from "../../wire-accounts.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { minuteOf, relative, table, visible } from "../text.ts";
import { wordsIn } from "./accounts.ts";
import { oneOf, wholeNumber } from "./typed.ts";

export interface CreateFlags extends GlobalFlags {
  readonly kind?: string;
  readonly scopes?: string;
  readonly permissions?: string;
  readonly agent?: string;
  readonly user?: string;
  readonly days?: string;
}

export function listTokens(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const tokens = await work.operator.people.tokens();
    if (work.json) printJson(work, { tokens });
    else work.terminal.out(tokens.length === 0 ? "No tokens.\n" : tokenTable(work, tokens));
    return exitCodes.ok;
  });
}

function tokenTable({ terminal, paint, now }: Work, tokens: readonly ListedTokenWire[]): string {
  const rows = tokens.map(({ id, name, kind, owner, scopes, expires_at, last_used_at, state, why }) => [
    id,
    name,
    kind,
    owner,
    scopes.join(" "),
    last_used_at === undefined ? "never" : relative(Date.parse(last_used_at), now()),
    state === "live" ? minuteOf(expires_at) : why === undefined ? state : `${state}: ${why}`,
  ]);
  const headings = ["TOKEN", "NAME", "KIND", "OWNER", "SCOPES", "LAST USED", "UNTIL"];
  return table(headings, rows, { terminal, paint });
}

export function createToken(host: Host, name: string, flags: CreateFlags): Promise<ExitCode> {
  const { kind = "agent", scopes, permissions, agent, user, days } = flags;
  const wanted = {
    name,
    kind: oneOf(kind, ["agent", "person"], "--kind"),
    agent,
    user,
    ...(scopes !== undefined && { scopes: wordsIn(scopes) }),
    ...(permissions !== undefined && { permissions: wordsIn(permissions) }),
    ...(days !== undefined && { ttl_seconds: wholeNumber(days, "--days") * 86_400 }),
  };
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const made = await work.operator.people.makeToken(wanted);
    if (work.json) printJson(work, made);
    else {
      const { id, agent: called, expires_at } = made.details;
      const who = called === undefined ? "" : `, calls as the agent ${visible(called)}`;
      work.terminal.aside(`${id}${who}, until ${minuteOf(expires_at)}. This is shown once and kept nowhere:\n`);
      work.terminal.out(`${made.token}\n`);
    }
    return exitCodes.ok;
  });
}

export function revokeToken(host: Host, id: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const token = await work.operator.people.revokeToken(id);
    if (work.json) printJson(work, token);
    else work.terminal.out(`Revoked ${token.id} (${visible(token.name)}).\n`);
    return exitCodes.ok;
  });
}
