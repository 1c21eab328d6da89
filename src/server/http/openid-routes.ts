import { openId as routes } from "../contract/session.ts";
import { answered, problem } from "./answers.ts";
import { cookieHeader, droppedCookie, openIdCookie, readCookie, sessionCookie } from "./cookies.ts";
import { type Route, type RouteRequest, serve } from "./route.ts";
import { tooMany, withAccounts } from "./session-routes.ts";

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
