import { problem } from "./answers.ts";

/**
 * No web page acts for anybody (G10): a page that made its name point at this machine sends a foreign `Host`, a page of
 * another site an `Origin` or `Sec-Fetch-Site` of its own. Checked before the token, on every route.
 *
 * `Host` is compared character by character; nothing is parsed, folded or guessed.
 */
export function refusePage(request: Request, hosts: readonly string[]): Response | undefined {
  const url = new URL(request.url);
  const host = request.headers.get("host") ?? url.host;
  if (!hosts.includes(host) || new URL(`http://${host}`).host !== url.host) {
    return problem("host_refused", `This server is not \`${shown(host)}\`; call it by one of: ${hosts.join(", ")}.`);
  }
  const origin = request.headers.get("origin");
  if (origin !== null && origin !== `${url.protocol}//${host}`) {
    return problem("page_refused", `A page of \`${shown(origin)}\` may not call this server.`);
  }
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") {
    return problem(
      "page_refused",
      `A page of another site may not call this server (Sec-Fetch-Site: \`${shown(site)}\`).`,
    );
  }
  return undefined;
}

function shown(value: string): string {
  return value.slice(0, 200);
}
