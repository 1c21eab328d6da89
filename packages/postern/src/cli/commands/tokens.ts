import { type ListedTokenAnswer, tokens } from "@postern/core/contract";
import type { CommandGroup } from "../command.ts";
import { flagsOf, wholeNumber } from "../flags.ts";
import { ago, type Columns } from "../output/print.ts";
import { minuteOf, visible } from "../output/text.ts";

export function commands(group: CommandGroup): void {
  group.list("list", "all of them, never their text", {
    isDefault: true,
    rows: "tokens",
    ask: ({ operator }) => operator.tokens.list(),
    columns,
    empty: "No tokens.",
  });
  group.answer("create <name>", "make one; its text is shown once", {
    words: { "<name>": "what it is for" },
    flags: flagsOf(tokens.create.body, {
      name: "none",
      kind: { default: "agent" },
      agent: { value: "name" },
      user: { value: "name" },
      ttl_seconds: {
        name: "days",
        help: "until it expires, 1 to 366 (default 90)",
        read: (text, flag) => wholeNumber(text, flag) * 86_400,
      },
    }),
    ask: ({ operator }, sent) => operator.tokens.create(sent),
    text: ({ token, details: { id, agent, expires_at } }, { terminal }) => {
      const who = agent === undefined ? "" : `, calls as the agent ${visible(agent)}`;
      terminal.aside(`${id}${who}, until ${minuteOf(expires_at)}. This is shown once and stored nowhere:\n`);
      return `${token}\n`;
    },
  });
  group.answer("revoke <id>", "from the next request on it is refused", {
    words: { "<id>": "`tok_…`" },
    ask: ({ operator }, sent) => operator.tokens.revoke(sent),
    text: ({ id, name }) => `Revoked ${id} (${visible(name)}).\n`,
  });
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
