import { RuntimeFault } from "@postern/core";
import { type AccountAnswer, accounts } from "@postern/core/contract";
import { readHiddenInput } from "../approver/hidden-input.ts";
import type { CommandGroup } from "../command.ts";
import { flagsOf, readField } from "../flags.ts";
import type { Host } from "../host.ts";
import type { Columns } from "../output/print.ts";
import { visible } from "../output/text.ts";

const mostPasswordBytes = 1024;
const { roles, groups } = accounts.change.body.shape;

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
  group.answer("set-password <name>", "set a password, read from standard input; its sessions end", {
    prepare: async ({ sent: { name }, host }) => ({ name, password: await passwordFrom(host, name) }),
    ask: ({ operator }, sent) => operator.accounts.setPassword(sent),
    text: (account) => changedText("Password set, sessions ended:", account),
  });
  for (const [field, type] of Object.entries({ roles, groups }))
    group.answer(`${field} <name> <${field}>`, `set the ${field} of an account`, {
      words: { [`<${field}>`]: "apart by commas; `none`" },
      prepare: ({ sent }) => {
        const { name = "", [field]: text = "" }: Readonly<Record<string, string>> = sent;
        return { name, [field]: text === "none" ? [] : readField(type, text, field) };
      },
      ask: ({ operator }, sent) => operator.accounts.change(sent),
      text: (account) => changedText("Changed", account),
    });
  for (const [verb, help, disabled] of [
    ["disable", "end its sessions and tokens at once, and refuse its sign-in", true],
    ["enable", "let it sign in again", false],
  ] as const)
    group.answer(`${verb} <name>`, help, {
      ask: ({ operator }, { name }) => operator.accounts.change({ name, disabled }),
      text: (account) => changedText(disabled ? "Disabled" : "Enabled", account),
    });
  group.answer("sign-out <name>", "end every session of it", {
    ask: ({ operator }, sent) => operator.accounts.signOut(sent),
    text: (account) => changedText("Signed out:", account),
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

function addCommand(group: CommandGroup): void {
  const flags = flagsOf(accounts.add.body, {
    name: "none",
    display_name: { value: "text" },
    tenant: { value: "tenant", help: "of which tenant (default `default`)" },
    roles: { default: "viewer", help: "of viewer, approver, operator, auditor, admin" },
    password: "none",
  });
  group.answer("add <name>", "add an account", {
    flags,
    options: { "--password": "read one from standard input; without it a sign-in link is how to get in" },
    prepare: async ({ sent, options, host }) => ({
      ...sent,
      password: options.password && (await passwordFrom(host, sent.name)),
    }),
    ask: ({ operator }, sent) => operator.accounts.add(sent),
    text: (account) => changedText("Added", account),
  });
}

function linkCommand(group: CommandGroup): void {
  group.answer("link [name]", "a link that signs in once, within ten minutes", {
    words: { "[name]": "who signs in; default: the built-in operator" },
    ask: async ({ operator, running }, { name = "operator" }) => {
      if (running) return operator.accounts.link({ name });
      throw new RuntimeFault("request_invalid", "A link needs a running Postern; start it with `postern start` first.");
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
