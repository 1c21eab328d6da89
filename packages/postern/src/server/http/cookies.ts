/**
 * Cookies of the server: never readable by a script, sent back to this site only. Where there is TLS they go over TLS
 * alone and carry `__Host-`, so that no other port or name of the host can set them; without, a browser knows no such
 * thing, and what a cookie says needs its proof (identity/session-repository.ts).
 */

type CookieName = "postern_session" | "postern_openid" | "postern_connection";

export const sessionCookie: CookieName = "postern_session";
/** Binds a sign-in elsewhere to the browser that began it; it must survive the way back from another site. */
export const openIdCookie: CookieName = "postern_openid";
/** The same for a sign-in at a server. */
export const connectionCookie: CookieName = "postern_connection";

/** @param origin of this server, as the browser wrote it */
export function readCookie(headers: Pick<Headers, "get">, name: CookieName, origin: string): string | undefined {
  const wanted = `${cookieName(name, origin)}=`;
  const found = (headers.get("cookie") ?? "")
    .split(/; */)
    .filter((pair) => pair.startsWith(wanted))
    .map((pair) => pair.slice(wanted.length));
  return found.length === 1 ? found[0] : undefined; // two of one name: one was planted
}

export interface CookieOptions {
  /** Of this server, as the browser wrote it. */
  readonly origin: string;
  readonly maxAgeSeconds: number;
  readonly sameSite?: "Lax" | "Strict";
}

export function cookieHeader(
  name: CookieName,
  value: string,
  { origin, maxAgeSeconds, sameSite = "Strict" }: CookieOptions,
): string {
  const parts = [
    `${cookieName(name, origin)}=${value}`,
    "Path=/",
    `Max-Age=${Math.max(0, Math.floor(maxAgeSeconds))}`,
    "HttpOnly",
    `SameSite=${sameSite}`,
    ...(isSecure(origin) ? ["Secure"] : []),
  ];
  return parts.join("; ");
}

export function droppedCookie(name: CookieName, options: Pick<CookieOptions, "origin" | "sameSite">): string {
  return cookieHeader(name, "", { ...options, maxAgeSeconds: 0 });
}

function cookieName(name: CookieName, origin: string): string {
  return isSecure(origin) ? `__Host-${name}` : name;
}

function isSecure(origin: string): boolean {
  return origin.startsWith("https://");
}
