import { RuntimeFault } from "@postern/core";
import type { ConnectionView } from "@postern/core/contract";
import { maxValueBytes, secretValue } from "../../secrets/secret-name.ts";
import { readHiddenInput } from "../approver/hidden-input.ts";
import type { CommandGroup } from "../command.ts";
import { ago, type Columns } from "../output/print.ts";
import { visible } from "../output/text.ts";

const tools = { tools: true } as const;

export function commands(group: CommandGroup): void {
  group.list("list", "servers that one signs in to, or enters a key for", {
    isDefault: true,
    needs: tools,
    rows: "connections",
    ask: ({ operator }) => operator.connections.list(),
    columns,
    empty: "No server asks for a sign-in or a key of each person: `oauth` and `secret://person/…` of `servers` do.",
  });
  group.answer("sign-in <server>", "the page on which to sign in there", {
    needs: tools,
    ask: async ({ operator, running, url }, { server }) => {
      if (!running || url === undefined)
        throw new RuntimeFault("request_invalid", "A sign-in needs a running Postern; start it with `postern start`.");
      const { connections: listed } = await operator.connections.list();
      const found = listed.find((one) => one.server === server);
      if (found?.signs_in !== true)
        throw new RuntimeFault(
          "connection_unknown",
          `No person signs in to a server \`${visible(server)}\` here; \`postern connections\` lists where one does.`,
        );
      return { server, url: `${url}/connections/${encodeURIComponent(server)}` };
    },
    text: ({ url }) => `${url}\n`,
  });
  group.answer("set <server> <key>", "enter a key of yours, read from standard input", {
    needs: tools,
    prepare: async ({ sent: { server, key }, host }) => {
      const prompt = `Key ${visible(key)} for ${visible(server)} (not shown): `;
      const value = secretValue(await readHiddenInput(host.terminal, prompt, maxValueBytes + 2), `${server}/${key}`);
      return { server, keys: { [key]: value } };
    },
    ask: ({ operator }, sent) => operator.connections.enter(sent),
    text: ({ server, connected }) => `${connected ? "Connected to" : "Set for"} ${visible(server)}.\n`,
  });
  group.answer("revoke <server>", "delete its token and keys", {
    needs: tools,
    ask: ({ operator }, sent) => operator.connections.revoke(sent),
    text: ({ revoked }) => (revoked ? "Revoked.\n" : "There was no connection.\n"),
  });
}

const columns: Columns<ConnectionView> = {
  SERVER: ({ server }) => server,
  FOR: ({ per }) => (per === "user" ? "you" : "all people"),
  BY: ({ signs_in, keys }) => [...(signs_in ? ["sign-in"] : []), ...keys].join(", "),
  STATE: ({ connected }) => (connected ? "connected" : "not connected"),
  SINCE: ({ since }, work) => ago(since, work),
};
