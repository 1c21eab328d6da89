import type { Command } from "commander";
import { type ListedTokenAnswer, tokens } from "../../server/contract/accounts.ts";
import type { Act } from "../act.ts";
import { flagsOf } from "../flags.ts";
import type { Host } from "../host.ts";
import { ago, type Columns, printAnswer, printList } from "../print.ts";
import { minuteOf, visible } from "../text.ts";
import { wholeNumber } from "./typed.ts";

export function tokenCommands(group: Command, host: Host, act: Act): void {
  act(group.command("list", { isDefault: true }).description("all of them, never their text"), (flags) =>
    printList(
      { host, flags },
      { rows: "tokens", ask: ({ operator }) => operator.tokens.list(), columns, empty: "No tokens." },
    ),
  );
  const about = flagsOf(tokens.create.body, {
    name: "none",
    kind: { default: "agent" },
    agent: { value: "name" },
    user: { value: "name" },
    ttl_seconds: {
      name: "days",
      help: "until it expires, 1 to 366 (default 90)",
      read: (text, flag) => wholeNumber(text, flag) * 86_400,
    },
  });
  const create = group
    .command("create")
    .description("make one; its text is shown once")
    .argument("<name>", "what it is for");
  act(about.addTo(create), (flags, [name = ""]) => {
    const wanted = { name, ...about.read(flags) };
    return printAnswer(
      { host, flags },
      {
        ask: ({ operator }) => operator.tokens.create(wanted),
        text: ({ token, details: { id, agent, expires_at } }, { terminal }) => {
          const who = agent === undefined ? "" : `, calls as the agent ${visible(agent)}`;
          terminal.aside(`${id}${who}, until ${minuteOf(expires_at)}. This is shown once and kept nowhere:\n`);
          return `${token}\n`;
        },
      },
    );
  });
  const revoke = group.command("revoke").description("from the next request on it is nobody's");
  act(revoke.argument("<id>", "`tok_…`"), (flags, [id = ""]) =>
    printAnswer(
      { host, flags },
      {
        ask: ({ operator }) => operator.tokens.revoke({ id }),
        text: (token) => `Revoked ${token.id} (${visible(token.name)}).\n`,
      },
    ),
  );
}

const columns: Columns<ListedTokenAnswer> = {
  TOKEN: ({ id }) => id,
  NAME: ({ name }) => name,
  KIND: ({ kind }) => kind,
  OWNER: ({ owner }) => owner,
  SCOPES: ({ scopes }) => scopes.join(" "),
  "LAST USED": ({ last_used_at }, work) => ago(last_used_at, work),
  UNTIL: ({ state, why, expires_at }) =>
    state === "live" ? minuteOf(expires_at) : why === undefined ? state : `${state}: ${why}`,
};
