import { z } from "zod";
import { component, flag, name, optional, text, texts, when } from "./fields.ts";
import { route, type View } from "./route.ts";

const connection = component("Connection", {
  server: text,
  per: z.enum(["user", "server"]).describe("`user`: one's own. `server`: one for all people."),
  signs_in: flag.describe("One signs in there in a browser."),
  keys: texts.describe("Keys that one enters, by name."),
  connected: flag,
  may_change: flag.describe("One for all people needs `tools:approve`."),
  ...optional({ since: when, scopes: texts }),
});
export type ConnectionView = View<typeof connection>;

/** Longer than any key that a service gives. */
const longestKey = 8_192;

export const connections = {
  list: route("get", "/v1/connections", "tokens:own", {
    summary: "Servers that people sign in to or enter a key for, and one's own connection to each.",
    answer: z.object({ connections: z.array(connection) }),
  }),
  begin: route("post", "/v1/connections/{server}/sign-in", "tokens:own", {
    summary:
      "Begin a sign-in at a server. The browser that began it goes to the `url`, and must be the one that comes back.",
    answer: z.object({ url: text }),
  }),
  enter: route("put", "/v1/connections/{server}", "tokens:own", {
    summary: "Enter keys for a server. They are sealed, and never sent back.",
    body: z.strictObject({
      keys: z.record(name, z.string().max(longestKey, `is longer than ${longestKey} characters`)),
    }),
    answer: connection,
  }),
  revoke: route("delete", "/v1/connections/{server}", "tokens:own", {
    summary: "End a connection: its token and keys are deleted.",
    answer: z.object({ revoked: flag.describe("False: there was none.") }),
  }),
  finish: route("get", "/v1/connections/callback", "nothing", {
    summary: "Back from a server's sign-in.",
    // An authorization server may add what it likes; what counts of it is checked by name.
    query: z.object({}).catchall(z.string().max(8_192)),
    answer: z.void(),
    status: 303,
  }),
  client: route("get", "/v1/connections/client", "nothing", {
    summary: "What Postern is to authorization servers (Client ID Metadata Document).",
    answer: z.looseObject({ client_id: text, client_name: text }),
  }),
};
