import type { Command } from "commander";
import { RuntimeFault } from "../../core/fault.ts";
import { type AccountAnswer, accounts } from "../../server/contract/accounts.ts";
import type { Act } from "../act.ts";
import { flagsOf, readField } from "../flags.ts";
import { type HiddenInput, readHidden } from "../hidden-input.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { type Columns, printAnswer, printList } from "../print.ts";
import type { Work } from "../session.ts";
import { visible } from "../text.ts";

const mostPasswordBytes = 1024;
const { roles, groups } = accounts.change.body.shape;

export function accountCommands(group: Command, host: Host, act: Act): void {
  const named = (verb: string, description: string): Command =>
    group.command(verb).description(description).argument("<name>");
  act(group.command("list", { isDefault: true }).description("all accounts"), (flags) =>
    printList(
      { host, flags },
      { rows: "accounts", ask: ({ operator }) => operator.accounts.list(), columns, empty: noAccounts },
    ),
  );
  addCommand(named("add", "add an account"), host, act);
  /** A change of one account, whose flags and words were read before anything is looked for. */
  const change = (
    flags: GlobalFlags,
    word: string,
    ask: (accounts: Work["operator"]["accounts"]) => Promise<AccountAnswer>,
  ) =>
    printAnswer(
      { host, flags },
      { ask: ({ operator }) => ask(operator.accounts), text: (account) => changedText(word, account) },
    );
  act(
    named("set-password", "set a password, read from standard input; its sessions end"),
    async (flags, [name = ""]) => {
      const password = await passwordFrom(host, name);
      return change(flags, "Password set, sessions ended:", (api) => api.setPassword({ name, password }));
    },
  );
  const withRoles = named("roles", "set the roles of an account").argument("<roles>", "apart by commas; `none`");
  act(withRoles, async (flags, [name = "", held = ""]) => {
    const wanted = held === "none" ? [] : readField(roles, held, "roles");
    return change(flags, "Changed", (api) => api.change({ name, roles: wanted }));
  });
  const withGroups = named("groups", "set the groups of an account").argument("<groups>", "apart by commas; `none`");
  act(withGroups, async (flags, [name = "", held = ""]) => {
    const wanted = held === "none" ? [] : readField(groups, held, "groups");
    return change(flags, "Changed", (api) => api.change({ name, groups: wanted }));
  });
  act(named("disable", "end its sessions and tokens at once, and let it in no more"), (flags, [name = ""]) =>
    change(flags, "Disabled", (api) => api.change({ name, disabled: true })),
  );
  act(named("enable", "let it in again"), (flags, [name = ""]) =>
    change(flags, "Enabled", (api) => api.change({ name, disabled: false })),
  );
  act(named("sign-out", "end every session of it"), (flags, [name = ""]) =>
    change(flags, "Signed out:", (api) => api.signOut({ name })),
  );
  linkCommand(group, host, act);
}

const noAccounts =
  "No accounts. `postern accounts add NAME --roles admin,approver --password` adds the first; from then on `critical` needs a person who is signed in.";

const columns: Columns<AccountAnswer> = {
  NAME: ({ name }) => name,
  TENANT: ({ tenant }) => tenant,
  ROLES: (account) => account.roles.join(", "),
  GROUPS: (account) => account.groups.join(", "),
  "SIGNS IN BY": ({ signs_in }) => signs_in,
  "": ({ disabled }) => (disabled ? "disabled" : ""),
};

function addCommand(command: Command, host: Host, act: Act): void {
  const about = flagsOf(accounts.add.body, {
    name: "none",
    display_name: { value: "text" },
    tenant: { value: "tenant", help: "of which tenant (default `default`)" },
    roles: { default: "viewer", help: "of viewer, approver, operator, auditor, admin" },
    password: "none",
  });
  const add = about
    .addTo(command)
    .option("--password", "read one from standard input; without it a sign-in link is how to get in");
  act(add, async (flags, [name = ""]) => {
    const { password: isWanted }: GlobalFlags & { readonly password?: true } = flags;
    const wanted = { name, ...about.read(flags), password: isWanted && (await passwordFrom(host, name)) };
    return printAnswer(
      { host, flags },
      { ask: ({ operator }) => operator.accounts.add(wanted), text: (account) => changedText("Added", account) },
    );
  });
}

function linkCommand(group: Command, host: Host, act: Act): void {
  const link = group
    .command("link")
    .description("a link that signs in once, within ten minutes")
    .argument("[name]", "who signs in; default: the built-in operator");
  act(link, (flags, [name = "operator"]) =>
    printAnswer(
      { host, flags },
      {
        ask: ({ operator, running }) => {
          if (running) return operator.accounts.link({ name });
          throw new RuntimeFault(
            "not_running",
            "A link leads to a Postern that runs; start it with `postern start` first.",
          );
        },
        text: ({ url }, { paint }) => `${url}\n${paint("dim", "Signs in once, within ten minutes.")}\n`,
      },
    ),
  );
}

function changedText(word: string, { name, tenant, roles: held }: AccountAnswer): string {
  return `${word} ${visible(name)} (${held.join(", ") || "no roles"}; tenant ${visible(tenant)}).\n`;
}

/** One line from standard input, never from the command line: shells store it and other users can read it. */
async function passwordFrom(host: Host, name: string): Promise<string> {
  const input: HiddenInput = process.stdin;
  const prompt = (): void => host.terminal.aside(`Password of ${visible(name)} (not shown): `);
  const bytes = await readHidden(input, mostPasswordBytes, prompt);
  if (input.isTTY === true) host.terminal.aside("\n");
  return new TextDecoder().decode(bytes).replace(/\r?\n$/, "");
}
