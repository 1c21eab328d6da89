import { type Accounts, accountProblems, type SignIn } from "../../accounts/accounts.ts";
import { roles as allRoles } from "../../accounts/roles.ts";
import type { Who } from "../credentials.ts";
import type { SessionWire, SignedInWire } from "../wire-accounts.ts";
import {
  type LinkFields,
  linkFields,
  type OwnPasswordFields,
  ownPasswordFields,
  type SignInFields,
  sessionAnswer,
  signedInAnswer,
  signInFields,
  waysAnswer,
} from "./account-schemas.ts";
import { answer, answered, type ProblemCode, problem } from "./answers.ts";
import { cookieHeader, droppedCookie, readCookie, sessionCookie } from "./cookies.ts";
import { type Asked, nothing, openRoute, type Route, route } from "./old-route.ts";
import { isOfTheHouse } from "./visible.ts";

/** Signing in to the console, and out. A session is a cookie that no script can read. */
export const sessionRoutes: readonly Route[] = [
  openRoute({
    method: "get",
    path: "/v1/session/ways",
    summary: "How one can sign in here.",
    body: nothing,
    query: nothing,
    answers: waysAnswer,
    run: ({ accounts, openId, command }) =>
      answer({
        password: accounts?.exist === true,
        ...(openId !== undefined && { openid: { name: openId.label } }),
        accounts: accounts?.exist === true,
        command: command?.ofAnybody,
      }),
  }),
  openRoute<SignInFields, Record<string, never>>({
    method: "post",
    path: "/v1/session",
    summary: "Sign in with name and password. The answer sets the session's cookie, and tells its `csrf` this once.",
    body: signInFields,
    query: nothing,
    answers: signedInAnswer,
    run: (asked) =>
      signingIn(asked, wrongPassword, (accounts) =>
        accounts.signIn(asked.body.name, asked.body.password, { address: asked.address }),
      ),
  }),
  openRoute<LinkFields, Record<string, never>>({
    method: "post",
    path: "/v1/session/link",
    summary: "Sign in with the token of a one-time link.",
    body: linkFields,
    query: nothing,
    answers: signedInAnswer,
    run: (asked) =>
      signingIn(asked, wrongLink, (accounts) => accounts.signInByLink(asked.body.token, { address: asked.address })),
  }),
  route({
    method: "get",
    path: "/v1/session",
    needs: "session:own",
    summary: "Who is asking: user, roles, permissions.",
    body: nothing,
    query: nothing,
    answers: sessionAnswer,
    run: ({ by, command, runtime }) => {
      const isTold = by.kind === "person" && isOfTheHouse(by);
      const follows = by.permissions.has("events:read");
      return answer({
        ...sessionToWire(by),
        command: isTold ? command?.ofTheHouse : command?.ofAnybody,
        ...(follows && { last_event_id: runtime.feed.last }),
      });
    },
  }),
  route({
    method: "delete",
    path: "/v1/session",
    needs: "session:own",
    summary: "Sign out.",
    body: nothing,
    query: nothing,
    answers: sessionAnswer,
    run: async ({ accounts, headers, origin, by }) => {
      const cookie = readCookie(headers, sessionCookie, origin);
      if (by.session === undefined || cookie === undefined || accounts === undefined)
        return problem("request_invalid", "A token has no session to end; revoke it instead.");
      await accounts.signOut(cookie);
      return new Response(null, { status: 204, headers: { "set-cookie": droppedCookie(sessionCookie, { origin }) } });
    },
  }),
  route<OwnPasswordFields, Record<string, never>>({
    method: "put",
    path: "/v1/session/password",
    needs: "session:own",
    summary: "Change one's own password. Every session of the account ends, this one too.",
    body: ownPasswordFields,
    query: nothing,
    answers: sessionAnswer,
    run: (asked) => withAccounts(asked, (accounts) => ownPassword(asked, accounts)),
  }),
];

async function ownPassword(
  { by, body, address, origin }: Asked<OwnPasswordFields, unknown>,
  accounts: Accounts,
): Promise<Response> {
  const { account, session } = by;
  if (account === undefined || session === undefined)
    return problem("request_invalid", "Only who is signed in changes a password here; a token has none.");
  const { current, password: next } = body;
  const changed = await accounts.changeOwnPassword(account, { current, next }, { address });
  if (changed === "too_many") return tooMany();
  if (changed === "wrong") return problem("sign_in_refused", "The current password is not right.");
  return new Response(null, { status: 204, headers: { "set-cookie": droppedCookie(sessionCookie, { origin }) } });
}

/** The same for a wrong name, a wrong password and a disabled account: nobody learns which names there are. */
const wrongPassword = "Name or password is wrong.";
const wrongLink = "That does not sign in here. A link works once, for ten minutes, and until another is made.";

/** What every way of signing in answers: the session, and its cookie. */
async function signingIn(
  asked: Asked<unknown, unknown, undefined>,
  refusal: string,
  way: (accounts: Accounts) => Promise<SignIn>,
): Promise<Response> {
  return withAccounts(asked, async (accounts) => {
    const signedIn = await way(accounts);
    if ("refused" in signedIn) return signedIn.refused === "too_many" ? tooMany() : problem("sign_in_refused", refusal);
    const { cookie, csrf, session, account } = signedIn;
    const found = await accounts.session(cookie, csrf);
    const permissions = [...(found?.permissions ?? [])];
    const headers = {
      "set-cookie": cookieHeader(sessionCookie, cookie, {
        origin: asked.origin,
        maxAgeSeconds: (session.expiresAt - asked.now()) / 1000,
      }),
    };
    const said: SignedInWire = {
      ...personOf(account),
      permissions,
      csrf,
      expires_at: new Date(session.expiresAt).toISOString(),
      signed_in: true,
      credential: "session",
    };
    return Response.json(said, { headers });
  });
}

function sessionToWire({ account, session, permissions, credential, principal, decider }: Who): SessionWire {
  const { user, tenant = principal.tenant, groups = [] } = decider;
  const roles = credential === "operator-token" ? allRoles : []; // who holds the data folder has every permission
  const builtIn = { user: { id: user, name: user, display_name: user }, tenant, roles, groups };
  return {
    ...(account === undefined ? builtIn : personOf(account)),
    permissions: [...permissions],
    expires_at: session === undefined ? null : new Date(session.expiresAt).toISOString(),
    signed_in: session !== undefined,
    credential,
  };
}

function personOf({
  id,
  name,
  displayName,
  tenant,
  roles,
  groups,
}: NonNullable<Who["account"]>): Pick<SessionWire, "user" | "tenant" | "roles" | "groups"> {
  return { user: { id, name, display_name: displayName }, tenant, roles, groups };
}

export function tooMany(): Response {
  return problem("too_many_attempts", "Too many tries; wait a second.", { headers: { "retry-after": "1" } });
}

export async function withAccounts(
  { accounts }: Pick<Asked<unknown, unknown>, "accounts">,
  then: (accounts: Accounts) => Promise<Response>,
): Promise<Response> {
  if (accounts === undefined) return problem("accounts_off", "This Postern was started without accounts.");
  return answered(
    () => then(accounts),
    (code) => (isAccountProblem(code) ? code : undefined),
  );
}

function isAccountProblem(code: string): code is keyof typeof accountProblems & ProblemCode {
  return Object.hasOwn(accountProblems, code);
}
