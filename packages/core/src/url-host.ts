/**
 * The host of an absolute URL in lower-case ASCII without a trailing dot. Returns undefined if two parsers could disagree
 * about it: a login, a backslash, white space, an escape in the authority, no `scheme://`, or no URL at all.
 */
export function hostOf(text: string): string | undefined {
  const plain = plainUrl.exec(text);
  if (plain?.[1] !== undefined && !plain[1].includes("xn--")) return plain[1];
  if (!absolute.test(text) || doubtful.test(text)) return undefined;
  const authority = text.slice(text.indexOf("://") + 3).split(/[/?#]/, 1)[0] ?? "";
  if (authority.includes("@") || authority.includes("%")) return undefined;
  if (!URL.canParse(text)) return undefined;
  const { hostname } = new URL(text);
  const host = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
  return host === "" || host.endsWith(".") ? undefined : host;
}

/** A host that needs no decoding. The last label begins with a letter, so it is no number that means an address. */
const plainUrl =
  /^(?:https?|wss?):\/\/((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-wyz](?:[a-z0-9-]*[a-z0-9])?)(?::\d{1,5})?(?:[/?#][!#-;=?-[\]_a-z~]*)?$/;
const absolute = /^(?:https?|wss?|ftp):\/\/[^/]/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const doubtful = /[\\\s\u0000-\u001f\u007f]/;

/** Returns why a pattern is invalid, or undefined if it is valid. */
export function hostPatternProblem(pattern: string): string | undefined {
  const name = pattern.startsWith("*.") ? pattern.slice(2) : pattern;
  if (name.includes("*")) return "not clear: `*.` stands only at its beginning";
  if (/[/@:?#\s]/.test(name.startsWith("[") ? "" : name) || hostOf(`https://${name}/`) === undefined)
    return "no host: write `example.com` or `*.example.com`, without scheme, login and port";
  return undefined;
}

/** `example.com` matches itself only; `*.example.com` matches every host below it, but not itself. */
export function hostMatcher(pattern: string): (host: string) => boolean {
  if (!pattern.startsWith("*.")) {
    const wanted = hostOf(`https://${pattern}/`);
    return (host) => host === wanted;
  }
  const ending = `.${hostOf(`https://${pattern.slice(2)}/`) ?? ""}`;
  return (host) => host.length > ending.length && host.endsWith(ending);
}
