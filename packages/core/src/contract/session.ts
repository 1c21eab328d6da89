import { z } from "zod";
import { password } from "./accounts.ts";
import { component, each, flag, name, optional, search, text, texts, when } from "./fields.ts";
import { route, type View } from "./route.ts";

const shown = z.object({
  user: z.object({ id: text, name: text, display_name: text }),
  tenant: text,
  ...each(texts, "roles", "groups", "permissions"),
  expires_at: when.nullable(),
  signed_in: flag.describe("A person in a session, not a token."),
  credential: z.enum(["agent-token", "operator-token", "api-token", "session"]),
});
const command = text.describe(
  "How commands are typed where Postern was started; `…` stands for what only its own people see.",
);

const current = shown
  .extend({
    ...optional({
      command,
      mcp_url: text.describe("Where agents connect."),
      version: text.describe("Of this Postern."),
      last_event_id: text.describe(
        "For a caller that may follow the events: what happens after this answer comes after this event.",
      ),
    }),
  })
  .meta({ id: "Session" });
export type SessionAnswer = View<typeof current>;

export const signedIn = shown
  .extend({
    csrf: text.describe("For `x-postern-csrf`, with every request. This is the only answer that has it."),
  })
  .meta({ id: "SignedIn" });

const ways = component("SignInWays", {
  ...each(flag, "password", "accounts"),
  ...optional({ openid: z.object({ name: text }), command }),
});

export const session = {
  ways: route("get", "/v1/session/ways", "nothing", {
    summary: "How one can sign in here.",
    answer: ways,
  }),
  signIn: route("post", "/v1/session", "nothing", {
    summary: "Sign in with name and password. The answer sets the session's cookie, and tells its `csrf` this once.",
    body: z.strictObject({ name, password }),
    answer: signedIn,
  }),
  signInByLink: route("post", "/v1/session/link", "nothing", {
    summary: "Sign in with the token of a one-time link.",
    body: z.strictObject({ token: z.string().min(1).max(256) }),
    answer: signedIn,
  }),
  show: route("get", "/v1/session", "session:own", {
    summary: "Who is asking: user, roles, permissions.",
    answer: current,
  }),
  signOut: route("delete", "/v1/session", "session:own", {
    summary: "Sign out.",
    answer: z.void(),
    status: 204,
  }),
  changePassword: route("put", "/v1/session/password", "session:own", {
    summary: "Change one's own password. Every session of the account ends, this one too.",
    body: z.strictObject({ current: password, password }),
    answer: z.void(),
    status: 204,
  }),
};

/** A browser follows both routes. They change only who is signed in. */
export const openId = {
  begin: route("get", "/v1/session/openid", "nothing", {
    summary: "Go to the OpenID provider. `to`: the page to come back to.",
    query: search({ to: z.string().max(500) }),
    answer: z.void(),
    status: 303,
  }),
  finish: route("get", "/v1/session/openid/callback", "nothing", {
    summary: "Back from the provider.",
    // A provider may add what it likes; what counts of it is checked by name.
    query: z.object({}).catchall(z.string().max(8_192)),
    answer: z.void(),
    status: 303,
  }),
};
