import { isRole, type Role, roles } from "../../../accounts/roles.ts";
import { RuntimeFault } from "../../../calls/fault.ts";
import type { AccountsClient } from "../../http/accounts-client.ts";
import type { AccountWire } from "../../wire-accounts.ts";
import { asTypedHere } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type HiddenInput, readHidden } from "../hidden-input.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { table, visible } from "../text.ts";
import { oneOf } from "./typed.ts";

export interface AddFlags extends GlobalFlags {
  readonly roles?: string;
  readonly groups?: string;
  readonly displayName?: string;
  readonly tenant?: string;
  readonly password?: boolean;
}

const mostPasswordBytes = 1024;

export function listAccounts(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    const accounts = await work.operator.people.list();
    if (work.json) printJson(work, { accounts });
    else
      work.terminal.out(accounts.length === 0 ? asTypedHere(noAccounts, work.command) : accountTable(work, accounts));
    return exitCodes.ok;
  });
}

const noAccounts =
  "No accounts. `postern accounts add NAME --roles admin,approver --password` adds the first; from then on `critical` needs a person who is signed in.\n";

function accountTable({ terminal, paint }: Work, accounts: readonly AccountWire[]): string {
  const rows = accounts.map(({ name, tenant, roles: held, groups, signs_in, disabled }) => [
    name,
    tenant,
    held.join(", "),
    groups.join(", "),
    signs_in,
    disabled ? "disabled" : "",
  ]);
  return table(["NAME", "TENANT", "ROLES", "GROUPS", "SIGNS IN BY", ""], rows, { terminal, paint });
}

export async function addAccount(host: Host, name: string, flags: AddFlags): Promise<ExitCode> {
  const { displayName: display_name, tenant, groups } = flags;
  const wanted = {
    name,
    display_name,
    tenant,
    roles: rolesIn(flags.roles ?? "viewer"),
    ...(groups !== undefined && { groups: wordsIn(groups) }),
    ...(flags.password === true && { password: await passwordFrom(host, name) }),
  };
  return changed({ host, flags }, "Added", (people) => people.add(wanted));
}

export async function setPassword(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  const password = await passwordFrom(host, name);
  return changed({ host, flags }, "Password set, sessions ended:", (people) => people.setPassword(name, password));
}

/** A name, and what it has from now on: several apart by commas, or `none`. */
interface Held {
  readonly name: string;
  readonly held: string;
}

export function setRoles(host: Host, { name, held }: Held, flags: GlobalFlags): Promise<ExitCode> {
  const roles = held === "none" ? [] : rolesIn(held);
  return changed({ host, flags }, "Changed", (people) => people.change(name, { roles }));
}

export function setGroups(host: Host, { name, held }: Held, flags: GlobalFlags): Promise<ExitCode> {
  const groups = held === "none" ? [] : wordsIn(held);
  return changed({ host, flags }, "Changed", (people) => people.change(name, { groups }));
}

export function disableAccount(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return changed({ host, flags }, "Disabled", (people) => people.change(name, { disabled: true }));
}

export function enableAccount(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return changed({ host, flags }, "Enabled", (people) => people.change(name, { disabled: false }));
}

export function signOutAccount(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return changed({ host, flags }, "Signed out:", (people) => people.signOut(name));
}

export function makeLink(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: false } }, async (work) => {
    if (!work.running)
      throw new RuntimeFault(
        "not_running",
        "A link leads to a Postern that runs; start it with `postern start` first.",
      );
    const link = await work.operator.people.link(name);
    if (work.json) printJson(work, link);
    else work.terminal.out(`${link.url}\n${work.paint("dim", "Signs in once, within ten minutes.")}\n`);
    return exitCodes.ok;
  });
}

function changed(
  asked: { readonly host: Host; readonly flags: GlobalFlags },
  word: string,
  change: (people: AccountsClient) => Promise<AccountWire>,
): Promise<ExitCode> {
  return withPostern({ ...asked, needs: { tools: false } }, async (work) => {
    const account = await change(work.operator.people);
    if (work.json) printJson(work, account);
    else
      work.terminal.out(
        `${word} ${visible(account.name)} (${account.roles.join(", ") || "no roles"}; tenant ${visible(account.tenant)}).\n`,
      );
    return exitCodes.ok;
  });
}

/** One line from standard input, never a word of the command line: that is kept by shells and seen by everybody. */
async function passwordFrom(host: Host, name: string): Promise<string> {
  const input: HiddenInput = process.stdin;
  const prompt = (): void => host.terminal.aside(`Password of ${visible(name)} (not shown): `);
  const bytes = await readHidden(input, mostPasswordBytes, prompt);
  if (input.isTTY === true) host.terminal.aside("\n");
  return new TextDecoder().decode(bytes).replace(/\r?\n$/, "");
}

function rolesIn(text: string): readonly Role[] {
  const words = wordsIn(text);
  for (const word of words) if (!isRole(word)) oneOf(word, roles, "--roles");
  return words.filter(isRole);
}

export function wordsIn(text: string): readonly string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
