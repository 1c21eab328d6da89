import { RuntimeFault } from "../../core/fault.ts";
import { type AccountAnswer, accounts } from "../../server/contract/accounts.ts";
import type { CommandGroup } from "../command.ts";
import { flagsOf, readField } from "../flags.ts";
import { readHiddenInput } from "../hidden-input.ts";
import type { Host } from "../host.ts";
import { type Columns, type CommandInput, printAnswer, type Work } from "../print.ts";
import { visible } from "../text.ts";

const mostPasswordBytes = 1024;
const { roles, groups } = accounts.change.body.shape;

type AccountApi = Work["operator"]["accounts"];

export function commands(group: CommandGroup): void {
  group.list("list", "all accounts", {
    isDefault: true,
    rows: "accounts",
    ask: ({ operator }) => operator.accounts.list(),
    columns,
    empty:
      "No accounts. `postern accounts add NAME --roles admin,approver --password` adds the first; from then on `critical` needs a person who is signed in.",
  });
  addCommand(group);
  group.run("set-password <name>", "set a password, read from standard input; its sessions end", {
    run: async ({ sent: { name }, ...typed }) => {
      const password = await passwordFrom(typed.host, name);
      return change(typed, "Password set, sessions ended:", (api) => api.setPassword({ name, password }));
    },
  });
  for (const [field, type] of Object.entries({ roles, groups }))
    group.run(`${field} <name> <${field}>`, `set the ${field} of an account`, {
      words: { [`<${field}>`]: "apart by commas; `none`" },
      run: async ({ sent, ...typed }) => {
        const { name = "", [field]: text = "" }: Readonly<Record<string, string>> = sent;
        const wanted = text === "none" ? [] : readField(type, text, field);
        return change(typed, "Changed", (api) => api.change({ name, [field]: wanted }));
      },
    });
  group.run("disable <name>", "end its sessions and tokens at once, and refuse its sign-in", {
    run: ({ sent: { name }, ...typed }) => change(typed, "Disabled", (api) => api.change({ name, disabled: true })),
  });
  group.run("enable <name>", "let it sign in again", {
    run: ({ sent: { name }, ...typed }) => change(typed, "Enabled", (api) => api.change({ name, disabled: false })),
  });
  group.run("sign-out <name>", "end every session of it", {
    run: ({ sent: { name }, ...typed }) => change(typed, "Signed out:", (api) => api.signOut({ name })),
  });
  linkCommand(group);
}

const columns: Columns<AccountAnswer> = {
  NAME: ({ name }) => name,
  TENANT: ({ tenant }) => tenant,
  ROLES: (account) => account.roles.join(", "),
  GROUPS: (account) => account.groups.join(", "),
  "SIGNS IN BY": ({ signs_in }) => signs_in,
  "": ({ disabled }) => (disabled ? "disabled" : ""),
};

function change(typed: CommandInput, word: string, ask: (api: AccountApi) => Promise<AccountAnswer>) {
  return printAnswer(
    { ...typed, sent: {} },
    { ask: ({ operator }) => ask(operator.accounts), text: (account) => changedText(word, account) },
  );
}

function addCommand(group: CommandGroup): void {
  const flags = flagsOf(accounts.add.body, {
    name: "none",
    display_name: { value: "text" },
    tenant: { value: "tenant", help: "of which tenant (default `default`)" },
    roles: { default: "viewer", help: "of viewer, approver, operator, auditor, admin" },
    password: "none",
  });
  group.run("add <name>", "add an account", {
    flags,
    options: { "--password": "read one from standard input; without it a sign-in link is how to get in" },
    run: async ({ sent, options, ...typed }) => {
      const password = options.password && (await passwordFrom(typed.host, sent.name));
      return change(typed, "Added", (api) => api.add({ ...sent, password }));
    },
  });
}

function linkCommand(group: CommandGroup): void {
  group.answer("link [name]", "a link that signs in once, within ten minutes", {
    words: { "[name]": "who signs in; default: the built-in operator" },
    ask: async ({ operator, running }, { name = "operator" }) => {
      if (running) return operator.accounts.link({ name });
      throw new RuntimeFault("not_running", "A link needs a running Postern; start it with `postern start` first.");
    },
    text: ({ url }, { paint }) => `${url}\n${paint("dim", "Signs in once, within ten minutes.")}\n`,
  });
}

function changedText(word: string, { name, tenant, roles: held }: AccountAnswer): string {
  return `${word} ${visible(name)} (${held.join(", ") || "no roles"}; tenant ${visible(tenant)}).\n`;
}

async function passwordFrom({ terminal }: Host, name: string): Promise<string> {
  const bytes = await readHiddenInput(terminal, `Password of ${visible(name)} (not shown): `, mostPasswordBytes);
  return new TextDecoder().decode(bytes).replace(/\r?\n$/, "");
}
