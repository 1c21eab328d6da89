import { z } from "@hono/zod-openapi";
import { answered, problem } from "./answers.ts";
import { cookieHeader, droppedCookie, openIdCookie, readCookie, sessionCookie } from "./cookies.ts";
import { type Asked, nothing, openRoute, type Route } from "./old-route.ts";
import { tooMany, withAccounts } from "./session-routes.ts";

interface ToQuery {
  readonly to?: string | undefined;
}
const toQuery: z.ZodType<ToQuery> = z.strictObject({ to: z.string().max(500).optional() });
/** Whatever a provider may add; what counts of it is checked by name. */
const backQuery: z.ZodType<Readonly<Record<string, unknown>>> = z.record(z.string().max(200), z.string().max(8_192));

const path = "/v1/session/openid";
const callback: string = `${path}/callback`;
const binderSeconds = 600;

/** Signing in at the OpenID provider: there, and back. A browser walks both; neither changes anything but who is signed in. */
export const openIdRoutes: readonly Route[] = [
  openRoute<Record<string, never>, ToQuery>({
    method: "get",
    path,
    summary: "Go to the OpenID provider. `to`: the page to come back to.",
    body: nothing,
    query: toQuery,
    answers: "text/plain",
    run: async ({ openId, origin, address, query }) => {
      if (openId === undefined) return problem("openid_off", "No OpenID provider is configured (`accounts.openid`).");
      return answered(
        async () => {
          const to = ownPath(query.to);
          const begun = await openId.begin({ redirectUri: `${origin}${callback}`, to, address });
          if ("refused" in begun) return tooMany();
          // Lax: the way back comes from another site.
          const options = { origin, sameSite: "Lax", maxAgeSeconds: binderSeconds } as const;
          return redirect(begun.url, [cookieHeader(openIdCookie, begun.binder, options)]);
        },
        () => "openid_failed",
      );
    },
  }),
  openRoute<Record<string, never>, Readonly<Record<string, unknown>>>({
    method: "get",
    path: callback,
    summary: "Back from the provider.",
    body: nothing,
    query: backQuery,
    answers: "text/plain",
    run: (asked) => withAccounts(asked, () => finished(asked)),
  }),
];

async function finished({
  accounts,
  openId,
  headers,
  origin,
  address,
  query,
  now,
}: Asked<unknown, Readonly<Record<string, unknown>>, undefined>): Promise<Response> {
  if (openId === undefined || accounts === undefined)
    return problem("openid_off", "No OpenID provider is configured (`accounts.openid`).");
  const back = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const said = await openId.finish(back, readCookie(headers, openIdCookie, origin));
  const signedIn = await accounts.signInByOpenId("refused" in said ? said : said.person, { address });
  const done = droppedCookie(openIdCookie, { origin, sameSite: "Lax" });
  if ("refused" in signedIn || "refused" in said) return redirect("/sign-in?problem=openid_refused", [done]);
  const maxAgeSeconds = (signedIn.session.expiresAt - now()) / 1000;
  // Behind `#`, which no browser sends on; the page takes it out of sight.
  const to = `${said.to}#csrf=${signedIn.csrf}`;
  return redirect(to, [done, cookieHeader(sessionCookie, signedIn.cookie, { origin, maxAgeSeconds })]);
}

/** A path of ours, whatever was asked for: `//evil.example` and `/\evil.example` are other sites to a browser. */
function ownPath(to = "/"): string {
  const isOurs = /^\/(?![/\\])[\x21-\x7e]*$/.test(to) && !to.includes("#") && !to.startsWith("/v1/");
  return isOurs ? to : "/";
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ location });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}
