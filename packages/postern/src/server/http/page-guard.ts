import { problem } from "./answers.ts";

/** A request without its body. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: { get(name: string): string | null };
}

interface GuardOptions {
  /** Following a link to it from elsewhere is what it is for, and the answer is the same for every caller. */
  readonly isPage?: boolean;
  /** A trusted proxy says that the client spoke TLS with it. */
  readonly isSecure?: boolean;
}

/**
 * No web page acts for a caller: a page that made its name point at this machine sends a foreign `Host`, a page of
 * another site an `Origin` or `Sec-Fetch-Site` of its own. Checked before the token, on every route.
 *
 * `Host` is compared character by character; nothing is parsed, folded or guessed. One of `hosts` may be an origin of
 * its own, `https://postern.example.com`: a proxy with TLS that hands requests on under that name.
 */
export function refusePage(
  request: RequestHead,
  hosts: readonly string[],
  { isPage = false, isSecure = false }: GuardOptions = {},
): Response | undefined {
  const origin = originOf(request, hosts, isSecure);
  const host = hostOf(request);
  if (origin === undefined) {
    const names = hosts.map((one) => one.replace(/^https:\/\//, "")).join(", ");
    return problem(
      "host_refused",
      `This server does not answer as \`${shown(host)}\`, because a web page could send requests to a name of its own. Call it by one of: ${names}. To reach it from another machine, put a proxy with TLS in front, and write the proxy's address as \`listen.public_url\`; any other name goes into \`listen.hosts\`.`,
    );
  }
  const from = request.headers.get("origin");
  if (from !== null && from !== origin) {
    return problem("page_refused", `A page of \`${shown(from)}\` may not call this server.`);
  }
  const site = request.headers.get("sec-fetch-site");
  if (site === null || site === "same-origin" || site === "none") return undefined;
  if (isPage && request.headers.get("sec-fetch-mode") === "navigate" && request.method === "GET") return undefined;
  return problem(
    "page_refused",
    `A page of another site may not call this server (Sec-Fetch-Site: \`${shown(site)}\`).`,
  );
}

/** This server as the client wrote it. Returns undefined if that is not a name of it. */
export function originOf(request: RequestHead, hosts: readonly string[], isSecure: boolean): string | undefined {
  const host = hostOf(request);
  const named = hosts.find((one) => one === host || one === `https://${host}`);
  const url = new URL(request.url);
  if (named === undefined || new URL(`http://${host}`).host !== url.host) return undefined;
  return named === host ? `${isSecure ? "https:" : url.protocol}//${host}` : named;
}

function hostOf(request: RequestHead): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}

function shown(value: string): string {
  return value.slice(0, 200);
}
