/** `URL`, as the URL standard has it, for what scripts meet: no document encodings, no blobs. */
import { hostOf } from "./host.ts";
import { percentEncoded, Query } from "./query.ts";

const ports: ReadonlyMap<string, string> = new Map([
  ["http:", "80"],
  ["https:", "443"],
  ["ws:", "80"],
  ["wss:", "443"],
  ["ftp:", "21"],
  ["file:", ""],
]);

interface Parts {
  protocol: string;
  username: string;
  password: string;
  /** Undefined: it has none, as `mailto:` has none. */
  host: string | undefined;
  port: string;
  /** Text: not made of segments. */
  path: string[] | string;
  search: string;
  hash: string;
}

const inPath = /[^\p{Cc} "#<>?^`{}\x80-\u{10ffff}]/u;
const inQuery = /[^\p{Cc} "#<>\x80-\u{10ffff}]/u;
const inSpecialQuery = /[^\p{Cc} "#'<>\x80-\u{10ffff}]/u;
const inHash = /[^\p{Cc} "<>`\x80-\u{10ffff}]/u;
const inUser = /[^\p{Cc} "#/:;<=>?@[\\\]^`{|}\x80-\u{10ffff}]/u;
const inOpaque = /[^\p{Cc}\x80-\u{10ffff}]/u;

export class WebUrl {
  #parts: Parts;
  #query: Query | undefined;

  constructor(url: unknown, base?: unknown) {
    const from = base === undefined ? undefined : parse(String(base), undefined);
    this.#parts = parse(String(url), from);
  }

  static canParse(url: unknown, base?: unknown): boolean {
    return WebUrl.parse(url, base) !== null;
  }

  static parse(url: unknown, base?: unknown): WebUrl | null {
    try {
      return new WebUrl(url, base);
    } catch {
      return null; // that is what is asked
    }
  }

  get href(): string {
    const { protocol, username, password, host, path, search, hash } = this.#parts;
    const user = username === "" && password === "" ? "" : `${username}${password === "" ? "" : `:${password}`}@`;
    const authority = host === undefined ? "" : `//${user}${this.host}`;
    const guard = host === undefined && typeof path !== "string" && path.length > 1 && path[0] === "" ? "/." : "";
    return `${protocol}${authority}${guard}${this.pathname}${search}${hash}`;
  }
  set href(url: string) {
    this.#parts = parse(String(url), undefined);
    this.#query = undefined;
  }

  get origin(): string {
    const { protocol } = this.#parts;
    return ports.has(protocol) && protocol !== "file:" ? `${protocol}//${this.host}` : "null";
  }

  get protocol(): string {
    return this.#parts.protocol;
  }
  set protocol(given: string) {
    const protocol = `${String(given).replace(/:.*$/s, "").toLowerCase()}:`;
    const before = this.#parts.protocol;
    if (!/^[a-z][a-z0-9+.-]*:$/.test(protocol) || ports.has(protocol) !== ports.has(before)) return;
    if (before !== "file:" && protocol !== "file:")
      this.#parts = {
        ...this.#parts,
        protocol,
        port: this.#parts.port === ports.get(protocol) ? "" : this.#parts.port,
      };
  }

  get username(): string {
    return this.#parts.username;
  }
  set username(name: string) {
    if (this.hostname !== "") this.#parts.username = percentEncoded(String(name), inUser);
  }

  get password(): string {
    return this.#parts.password;
  }
  set password(word: string) {
    if (this.hostname !== "") this.#parts.password = percentEncoded(String(word), inUser);
  }

  get host(): string {
    return this.port === "" ? this.hostname : `${this.hostname}:${this.port}`;
  }
  set host(given: string) {
    if (this.#parts.protocol === "file:" && String(given).includes(":")) return;
    const [, name = "", port] = /^(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?/.exec(String(given)) ?? [];
    this.hostname = name;
    if (port !== undefined && this.hostname !== "") this.port = port;
  }

  get hostname(): string {
    return this.#parts.host ?? "";
  }
  set hostname(name: string) {
    if (typeof this.#parts.path === "string") return;
    try {
      this.#parts.host = hostOf(String(name), ports.has(this.#parts.protocol));
    } catch {
      // What is no host changes nothing, by the standard.
    }
  }

  get port(): string {
    return this.#parts.port;
  }
  set port(given: string | number) {
    const [digits] = /^\d*/.exec(String(given)) ?? [""];
    if (this.hostname === "" || (digits === "" && given !== "")) return;
    if (Number(digits) < 65_536) this.#parts.port = portOf(digits, this.#parts.protocol);
  }

  get pathname(): string {
    const { path } = this.#parts;
    return typeof path === "string" ? path : path.map((part) => `/${part}`).join("");
  }
  set pathname(given: string) {
    if (typeof this.#parts.path === "string") return;
    this.#parts.path = pathOf(String(given).replace(/^[/\\]/, ""), [], ports.has(this.#parts.protocol));
  }

  get search(): string {
    return this.#parts.search === "?" ? "" : this.#parts.search;
  }
  set search(given: string) {
    this.#parts.search = searchOf(String(given).replace(/^\?/, ""), this.#parts.protocol);
    this.#query = undefined;
  }

  get searchParams(): Query {
    this.#query ??= new Query(this.search, (text) => {
      this.#parts.search = text === "" ? "" : `?${text}`;
    });
    return this.#query;
  }

  get hash(): string {
    return this.#parts.hash === "#" ? "" : this.#parts.hash;
  }
  set hash(given: string) {
    const text = String(given).replace(/^#/, "");
    this.#parts.hash = text === "" ? "" : `#${percentEncoded(text, inHash)}`;
  }

  toString(): string {
    return this.href;
  }

  toJSON(): string {
    return this.href;
  }
}

function parse(given: string, base: Parts | undefined): Parts {
  const text = given.replace(/^[\p{Cc} ]+|[\p{Cc} ]+$/gu, "").replace(/[\t\n\r]/g, "");
  const [, scheme, rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text) ?? [];
  const protocol = scheme === undefined ? undefined : `${scheme.toLowerCase()}:`;
  const isRelative =
    protocol === base?.protocol && protocol !== undefined && ports.has(protocol) && !rest.startsWith("//");
  if (protocol !== undefined && !isRelative) return absolute(protocol, rest, given);
  if (base === undefined) throw invalid(given);
  return relative(isRelative ? rest : text, base, given);
}

function absolute(protocol: string, rest: string, given: string): Parts {
  const { body, search, hash } = cut(rest, protocol);
  const none = { protocol, username: "", password: "", host: undefined, port: "", search, hash };
  const special = ports.has(protocol);
  if (special && protocol !== "file:") return { ...none, ...located(body.replace(/^[/\\]*/, ""), protocol, given) };
  const isLocated = special ? /^[/\\]{2}/.test(body) : body.startsWith("//");
  if (isLocated) return { ...none, ...located(body.slice(2), protocol, given) };
  if (special) return { ...none, host: "", path: pathOf(body.replace(/^[/\\]/, ""), [], true) };
  if (body.startsWith("/")) return { ...none, path: pathOf(body.slice(1), [], false) };
  const path = percentEncoded(body, inOpaque);
  return { ...none, path: search + hash === "" ? path : path.replace(/ $/, "%20") };
}

/** Where the browser types too many slashes, it means two. */
function authorityIn(body: string, protocol: string): string {
  const rest = body.slice(2);
  return ports.has(protocol) && protocol !== "file:" ? rest.replace(/^[/\\]+/, "") : rest;
}

function relative(text: string, base: Parts, given: string): Parts {
  const { protocol, path } = base;
  if (typeof path === "string") {
    if (!text.startsWith("#")) throw invalid(given);
    return { ...base, hash: cut(text, protocol).hash };
  }
  const special = ports.has(protocol);
  const { body, search, hash } = cut(text, protocol);
  if (special ? /^[/\\]{2}/.test(body) : body.startsWith("//"))
    return { protocol, search, hash, ...located(authorityIn(body, protocol), protocol, given) };
  if (body === "") return { ...base, search: text.startsWith("?") ? search : base.search, hash };
  const isRooted = special ? /^[/\\]/.test(body) : body.startsWith("/");
  return {
    ...base,
    search,
    hash,
    path: isRooted ? pathOf(body.slice(1), [], special) : pathOf(body, path.slice(0, -1), special),
  };
}

/** `user:password@host:port/path`. */
function located(
  body: string,
  protocol: string,
  given: string,
): Pick<Parts, "username" | "password" | "host" | "port" | "path"> {
  const special = ports.has(protocol);
  const end = body.search(special ? /[/\\]/ : /\//);
  const authority = end < 0 ? body : body.slice(0, end);
  const at = authority.lastIndexOf("@");
  const [, username = "", password = ""] = /^([^:]*):?(.*)$/s.exec(authority.slice(0, Math.max(0, at))) ?? [];
  const [all, name = "", port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(authority.slice(at + 1)) ?? [];
  const isEmpty = name === "" && (special ? protocol !== "file:" : at >= 0 || port !== "");
  if (all === undefined || isEmpty || Number(port) > 65_535 || (protocol === "file:" && authority !== name))
    throw invalid(given);
  const host = name === "" ? "" : checkedHost(name, special, given);
  return {
    username: percentEncoded(username, inUser),
    password: percentEncoded(password, inUser),
    host: protocol === "file:" && host === "localhost" ? "" : host,
    port: portOf(port, protocol),
    path: end < 0 ? (special ? [""] : []) : pathOf(body.slice(end + 1), [], special),
  };
}

function checkedHost(name: string, special: boolean, given: string): string {
  try {
    return hostOf(name, special);
  } catch {
    throw invalid(given);
  }
}

function portOf(digits: string, protocol: string): string {
  if (digits === "") return "";
  const port = String(Number(digits));
  return port === ports.get(protocol) ? "" : port;
}

function pathOf(text: string, before: readonly string[], special: boolean): string[] {
  const path = [...before];
  const segments = text.split(special ? /[/\\]/ : "/");
  for (const [n, segment] of segments.entries()) {
    const isLast = n === segments.length - 1;
    const plain = segment.replaceAll(/%2e/gi, ".");
    if (plain === "..") path.pop();
    else if (plain !== ".") path.push(percentEncoded(segment, inPath));
    if (isLast && (plain === "." || plain === "..")) path.push("");
  }
  return path;
}

function cut(
  text: string,
  protocol: string,
): { readonly body: string; readonly search: string; readonly hash: string } {
  const [, body = "", query, hash] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text) ?? [];
  return {
    body,
    search: query === undefined ? "" : query === "" ? "?" : searchOf(query, protocol),
    hash: hash === undefined ? "" : `#${percentEncoded(hash, inHash)}`,
  };
}

function searchOf(query: string, protocol: string): string {
  return query === "" ? "" : `?${percentEncoded(query, ports.has(protocol) ? inSpecialQuery : inQuery)}`;
}

function invalid(url: string): TypeError {
  return Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input: url });
}
