import { fewestCharacters } from "./secret-name.ts";

/** A name whose value is a secret. */
const secretNames =
  /token(?!i)|secret|passw|pwd|passphrase|api[-_]?key|authorization|credential|private[-_]?key|cookie|(?:^|[-_])(?:key|auth)$/i;
/** A name whose value tells where a secret is, or how it is made. */
const harmlessNames = /(?:file|path|dir|url|uri|endpoint|host|type|name|ttl|expires?|enabled?|algorithm)$/i;
/** A variable that describes the machine or how a program runs. */
const descriptiveNames =
  /^(?:home|shell|term|pwd|tz|lang|language|logname|tmpdir|temp|tmp|lc_.*|xdg_.*|node_options)$|(?:^|_)(?:user|username|port|region|zone|env|environment|level|mode|locale|home|version|format)$/i;
const plainValue = /^(?:true|false|yes|no|on|off|none|null|[-+]?[\d.,:_-]+)$/i;
/** An ordinary word, such as `production`. */
const word = /^[a-z]{1,20}(?:[-_][a-z]{1,20})?$/i;
const path = /^(?:\/|\.{1,2}\/|~)/;
/** A header's scheme before its credential. */
const scheme = /^(bearer|basic|token|api-?key|key|digest|negotiate)\s+(\S.*)$/i;
/** A random part of an address. */
const random = /^(?=.*\d)(?=.*[A-Za-z])[\w.~+=-]{20,}$/;

/** A guess by the name, if the value could be a secret. Numbers, paths and references are not secrets. */
function looksSecret(name: string, value: string): boolean {
  const text = value.trim();
  if (text.length < fewestCharacters || plainValue.test(text) || /^\$\{.*\}$/s.test(text)) return false;
  if (!secretNames.test(name) || harmlessNames.test(name)) return false;
  return !path.test(text) || !/credentials?$/i.test(name);
}

/** The parts to mask in a value under a name: in `env`, in `headers`, after an option. */
export function secretsUnder(name: string, value: string): readonly string[] {
  if (isAddress(value)) return credentialsIn(value);
  if (!looksSecret(name, value)) return [];
  if (/cookie$/i.test(name)) return value.split(";").map((pair) => pair.slice(pair.indexOf("=") + 1).trim());
  const [, how, rest] = scheme.exec(value.trim()) ?? [];
  if (how === undefined || rest === undefined) return [value];
  return how.toLowerCase() === "basic" ? [rest, ...passwordIn(rest)] : [rest];
}

/**
 * The parts to mask in an environment variable that a configuration passes on. A variable counts as a secret unless its
 * name clearly says otherwise.
 */
export function secretsInVariable(name: string, value: string): readonly string[] {
  if (isAddress(value)) return credentialsIn(value);
  if (looksSecret(name, value)) return [value];
  const text = value.trim();
  const isPlain = plainValue.test(text) || word.test(text) || path.test(text);
  return isPlain || descriptiveNames.test(name) || harmlessNames.test(name) ? [] : [value];
}

/** The secret parts of an address: a password, a key in its query, a long random part of its path. */
export function credentialsIn(address: string): readonly string[] {
  if (!URL.canParse(address)) return [];
  const { username, password, searchParams, pathname } = new URL(address);
  const asked = [...searchParams].filter(([name, value]) => looksSecret(name, value) || random.test(value));
  return [
    ...(password === "" ? [decoded(username)] : [decoded(password)]),
    ...asked.map(([, value]) => value),
    ...pathname
      .split("/")
      .map(decoded)
      .filter((part) => random.test(part)),
  ].filter((value) => value !== "");
}

function isAddress(value: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(value) && URL.canParse(value);
}

/** The password in the base64 of `user:password`. */
function passwordIn(basic: string): readonly string[] {
  const pair = Buffer.from(basic, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  return colon < 0 || pair.includes("\u{fffd}") ? [] : [pair.slice(colon + 1)];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a lone percent sign is not an escape
  }
}
