import { roles as allRoles } from "@postern/core";
import { type Input, openId as routes, session, shape, signedIn as signedInAnswer } from "@postern/core/contract";
import { type Accounts, accountProblems, type SignIn } from "../../identity/accounts.ts";
import type { Who } from "../credentials.ts";
import { answered, type ProblemCode, problem } from "./answers.ts";
import { isOfOwnTenant } from "./caller.ts";
import { cookieHeader, droppedCookie, openIdCookie, readCookie, sessionCookie } from "./cookies.ts";
import { type Route, type RouteRequest, type ServerContext, serve } from "./route.ts";

/** Signing in to the console, and out. A session is a cookie that no script can read. */
export const sessionRoutes: readonly Route[] = serve(session, {
  ways: ({ accounts, openId, command }) => ({
    password: accounts?.exist === true,
    openid: openId && { name: openId.label },
    accounts: accounts?.exist === true,
    command: command?.withoutValues,
  }),
  signIn: (request) =>
    signingIn(request, wrongPassword, (accounts, address) =>
      accounts.signIn(request.body.name, request.body.password, { address }),
    ),
  signInByLink: (request) =>
    signingIn(request, wrongLink, (accounts, address) => accounts.signInByLink(request.body.token, { address })),
  show: ({ by, command, runtime, publicUrl, origin, version }) => ({
    ...shownSession(by),
    mcp_url: `${publicUrl ?? origin}/mcp`,
    version,
    command: by.kind === "person" && isOfOwnTenant(by) ? command?.full : command?.withoutValues,
    last_event_id: by.permissions.has("events:read") ? runtime.feed.last : undefined,
  }),
  signOut: async ({ accounts, headers, origin, by }) => {
    const cookie = readCookie(headers, sessionCookie, origin);
    if (by.session === undefined || cookie === undefined || accounts === undefined)
      return problem("request_invalid", "A token has no session to end; revoke it instead.");
    await accounts.signOut(cookie);
    return signedOut(origin);
  },
  changePassword: (request) => withAccounts(request, (accounts) => ownPassword(request, accounts)),
});

async function ownPassword(
  { by, body, address, origin }: RouteRequest<typeof session.changePassword>,
  accounts: Accounts,
): Promise<Response> {
  const { account, session } = by;
  if (account === undefined || session === undefined)
    return problem("request_invalid", "Only who is signed in changes a password here; a token has none.");
  const { current, password: next } = body;
  const changed = await accounts.changeOwnPassword(account, { current, next }, { address });
  if (changed === "too_many") return tooMany();
  if (changed === "wrong") return problem("sign_in_refused", "The current password is not right.");
  return signedOut(origin);
}

function signedOut(origin: string): Response {
  return new Response(null, { status: 204, headers: { "set-cookie": droppedCookie(sessionCookie, { origin }) } });
}

/** The same for a wrong name, a wrong password and a disabled account, so that it does not tell which names exist. */
const wrongPassword = "Name or password is wrong.";
const wrongLink = "That does not sign in here. A link works once, for ten minutes, and until another is made.";

/** What every way of signing in answers: the session, and its cookie. */
async function signingIn(
  context: Pick<ServerContext, "accounts" | "now"> & { readonly address: string; readonly origin: string },
  refusal: string,
  way: (accounts: Accounts, address: string) => Promise<SignIn>,
): Promise<Response> {
  return withAccounts(context, async (accounts) => {
    const made = await way(accounts, context.address);
    if ("refused" in made) return made.refused === "too_many" ? tooMany() : problem("sign_in_refused", refusal);
    const { cookie, csrf, session: live, account } = made;
    const found = await accounts.session(cookie, csrf);
    const answer = shape(signedInAnswer, {
      ...personOf(account),
      permissions: [...(found?.permissions ?? [])],
      csrf,
      expires_at: live.expiresAt,
      signed_in: true,
      credential: "session",
    });
    const maxAgeSeconds = (live.expiresAt - context.now()) / 1000;
    const header = cookieHeader(sessionCookie, cookie, { origin: context.origin, maxAgeSeconds });
    return Response.json(answer, { headers: { "set-cookie": header } });
  });
}

function shownSession({
  account,
  session: live,
  permissions,
  credential,
  principal,
  decider,
}: Who): Input<typeof session.show.answer> {
  const { user, tenant = principal.tenant, groups = [] } = decider;
  const roles = credential === "operator-token" ? allRoles : []; // who holds the data folder has every permission
  const builtIn = { user: { id: user, name: user, display_name: user }, tenant, roles, groups };
  return {
    ...(account === undefined ? builtIn : personOf(account)),
    permissions: [...permissions],
    expires_at: live?.expiresAt ?? null,
    signed_in: live !== undefined,
    credential: credential as Exclude<typeof credential, "oauth-token" | "order-token">, // such tokens do not reach this route
  };
}

function personOf(
  account: NonNullable<Who["account"]>,
): Pick<Input<typeof session.show.answer>, "user" | "tenant" | "roles" | "groups"> {
  const { id, name, displayName, tenant, roles, groups } = account;
  return { user: { id, name, display_name: displayName }, tenant, roles, groups };
}

function tooMany(): Response {
  return problem("too_many_attempts", "Too many tries; wait a second.", { headers: { "retry-after": "1" } });
}

export async function withAccounts<Answer>(
  { accounts }: Pick<ServerContext, "accounts">,
  then: (accounts: Accounts) => Promise<Answer>,
): Promise<Answer | Response> {
  if (accounts === undefined) return problem("accounts_off", "This Postern was started without accounts.");
  return answered(
    () => then(accounts),
    (code) => (isAccountProblem(code) ? code : undefined),
  );
}

function isAccountProblem(code: string): code is keyof typeof accountProblems & ProblemCode {
  return Object.hasOwn(accountProblems, code);
}

const binderSeconds = 600;

/** Sign-in at the OpenID provider: the way there, and the way back. */
export const openIdRoutes: readonly Route[] = serve(routes, {
  begin: async ({ openId, origin, address, query }) => {
    if (openId === undefined) return problem("openid_off", "No OpenID provider is configured (`accounts.openid`).");
    return answered(
      async () => {
        const to = ownPath(query.to);
        const started = await openId.begin({ redirectUri: `${origin}${routes.finish.path}`, to, address });
        if ("refused" in started) return tooMany();
        // Lax: the browser comes back from another site.
        const options = { origin, sameSite: "Lax", maxAgeSeconds: binderSeconds } as const;
        return redirect(started.url, [cookieHeader(openIdCookie, started.binder, options)]);
      },
      () => "openid_failed",
    );
  },
  finish: (request) => withAccounts(request, () => finished(request)),
});

async function finished({
  accounts,
  openId,
  headers,
  origin,
  address,
  query,
  now,
}: RouteRequest<typeof routes.finish>): Promise<Response> {
  if (openId === undefined || accounts === undefined)
    return problem("openid_off", "No OpenID provider is configured (`accounts.openid`).");
  const answer = await openId.finish(new URLSearchParams(query), readCookie(headers, openIdCookie, origin));
  const signedIn = await accounts.signInByOpenId("refused" in answer ? answer : answer.person, { address });
  const done = droppedCookie(openIdCookie, { origin, sameSite: "Lax" });
  if ("refused" in signedIn || "refused" in answer) return redirect("/sign-in?problem=openid_refused", [done]);
  const maxAgeSeconds = (signedIn.session.expiresAt - now()) / 1000;
  // Behind `#`, which no browser sends on; the page takes it out of sight.
  const to = `${answer.to}#csrf=${signedIn.csrf}`;
  return redirect(to, [done, cookieHeader(sessionCookie, signedIn.cookie, { origin, maxAgeSeconds })]);
}

/** A path of this server: `//evil.example` and `/\evil.example` are other sites to a browser. */
function ownPath(to = "/"): string {
  const isOurs = /^\/(?![/\\])[\x21-\x7e]*$/.test(to) && !to.includes("#") && !to.startsWith("/v1/");
  return isOurs ? to : "/";
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ location });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}
