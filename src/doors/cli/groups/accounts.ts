import type { Command } from "commander";
import type { Act } from "../act.ts";
import type { Host } from "../host.ts";

export function accountCommands(program: Command, host: Host, act: Act): void {
  const accounts = program.command("accounts").description("the people who sign in to the console, and their roles");
  const load = () => import("../commands/accounts.ts");
  const named = (verb: string, description: string): Command =>
    accounts.command(verb).description(description).argument("<name>");
  act(accounts.command("list", { isDefault: true }).description("everybody"), async (flags) =>
    (await load()).listAccounts(host, flags),
  );
  const add = named("add", "add somebody")
    .option("--roles <roles>", "of viewer, approver, operator, auditor, admin, apart by commas (default viewer)")
    .option("--groups <groups>", "apart by commas: requests are routed to them")
    .option("--display-name <text>", "as people read it")
    .option("--tenant <tenant>", "whose people it is of (default `default`)")
    .option("--password", "read one from standard input; without it a sign-in link is how to get in");
  act(add, async (flags, [name = ""]) => (await load()).addAccount(host, name, flags));
  act(named("set-password", "set a password, read from standard input; its sessions end"), async (flags, [name = ""]) =>
    (await load()).setPassword(host, name, flags),
  );
  const roles = named("roles", "what somebody may do from now on").argument("<roles>", "apart by commas; `none`");
  act(roles, async (flags, [name = "", held = ""]) => (await load()).setRoles(host, { name, held }, flags));
  const groups = named("groups", "the groups somebody is in").argument("<groups>", "apart by commas; `none`");
  act(groups, async (flags, [name = "", held = ""]) => (await load()).setGroups(host, { name, held }, flags));
  act(named("disable", "end its sessions and tokens at once, and let it in no more"), async (flags, [name = ""]) =>
    (await load()).disableAccount(host, name, flags),
  );
  act(named("enable", "let it in again"), async (flags, [name = ""]) =>
    (await load()).enableAccount(host, name, flags),
  );
  act(named("sign-out", "end every session of it"), async (flags, [name = ""]) =>
    (await load()).signOutAccount(host, name, flags),
  );
  const link = accounts
    .command("link")
    .description("a link that signs in once, within ten minutes")
    .argument("[name]", "whom; nobody: the built-in operator, while there are no accounts");
  act(link, async (flags, [name = "operator"]) => (await load()).makeLink(host, name, flags));
}
