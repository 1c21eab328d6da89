/** Cookies of this door: never readable by a script, sent back to this site only, and over TLS alone where there is TLS. */

export const sessionCookie = "postern_session";
/** Binds a sign-in elsewhere to the browser that began it; it must survive the way back from another site. */
export const openIdCookie = "postern_openid";

export function readCookie(headers: Headers, name: string): string | undefined {
  const found = (headers.get("cookie") ?? "")
    .split(/; */)
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return found.length === 1 ? found[0] : undefined; // two of one name: somebody planted one
}

export interface CookieOptions {
  /** Of this server, as the browser wrote it. */
  readonly origin: string;
  readonly maxAgeSeconds: number;
  readonly path?: string;
  readonly sameSite?: "Lax" | "Strict";
}

export function cookieHeader(
  name: string,
  value: string,
  { origin, maxAgeSeconds, path = "/", sameSite = "Strict" }: CookieOptions,
): string {
  const parts = [
    `${name}=${value}`,
    `Path=${path}`,
    `Max-Age=${Math.max(0, Math.floor(maxAgeSeconds))}`,
    "HttpOnly",
    `SameSite=${sameSite}`,
    ...(origin.startsWith("https://") ? ["Secure"] : []),
  ];
  return parts.join("; ");
}

export function droppedCookie(name: string, options: Pick<CookieOptions, "origin" | "path" | "sameSite">): string {
  return cookieHeader(name, "", { ...options, maxAgeSeconds: 0 });
}
