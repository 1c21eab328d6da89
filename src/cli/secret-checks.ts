import type { Settings } from "../config/settings.ts";
import { messageOf } from "../core/fault.ts";
import { looksSecret } from "../secrets/configured-values.ts";
import { openSecrets } from "../secrets/open-secrets.ts";
import { loadPatterns, type SecretPatterns } from "../secrets/patterns.ts";
import { createRedactor } from "../secrets/redactor.ts";
import { openSealed } from "../secrets/sealed-file.ts";
import { learnReferences, referencesIn, secretReferences } from "../secrets/secret-reference.ts";
import { type DoctorFinding, fail, ok, warn } from "./findings.ts";

const check = "secrets";

/** Does the sealed file open, does every reference have a value, is a value written where a reference belongs? */
export async function* secretChecks(settings: Settings): AsyncGenerator<DoctorFinding> {
  try {
    yield* sealed(settings);
    yield* references(settings);
  } catch (error) {
    yield fail(check, messageOf(error));
  }
  yield* literals(settings.servers);
}

async function* sealed({ secrets, secretSettings }: Settings): AsyncGenerator<DoctorFinding> {
  if (secrets !== undefined || !secretSettings.backends.includes("sealed")) return;
  const opened = await openSealed({ ...secretSettings, environment: process.env });
  if (opened !== undefined) yield ok(check, `${secretSettings.file} opens; it holds ${opened.entries.size}`);
}

async function* references({
  secrets,
  secretSettings,
  servers,
  accounts,
  channels,
  chains,
}: Settings): AsyncGenerator<DoctorFinding> {
  const texts = [
    ...Object.values(servers).flatMap(({ env = {}, url = "", headers = {} }) => [
      url,
      ...Object.values(env),
      ...Object.values(headers),
    ]),
    ...(channels?.webhooks ?? []).flatMap(({ url, secret = "" }) => [url, secret]),
    accounts.openId?.clientSecret,
    chains?.engineSettings?.kubernetes?.token,
  ].filter((text) => typeof text === "string");
  const named = secretReferences(texts);
  if (named.length === 0) return;
  const redactor = createRedactor();
  const store = secrets ?? (await openSecrets(secretSettings, redactor));
  for (const { reference, problem } of await learnReferences(named, store, redactor)) {
    const fix = `Set it, or remove \`secret://${reference.connector}/${reference.key}\` from the configuration.`;
    yield warn(check, problem, fix);
  }
}

async function* literals(servers: Settings["servers"]): AsyncGenerator<DoctorFinding> {
  const patterns = await loadPatterns();
  for (const [server, { args = [], env = {}, headers = {}, url = "" }] of Object.entries(servers)) {
    for (const [place, values] of Object.entries({ env, headers }))
      for (const [name, value] of Object.entries(values))
        if (isLiteralSecret(name, value, patterns)) yield literal(server, `${place}.${name}`, name);
    if (patterns.suspects(url).length > 0) yield literal(server, "url", "url");
    const at = args.findIndex((word, i) => isSecretArgument(word, args[i - 1] ?? "", patterns));
    if (at >= 0)
      yield {
        ...literal(server, `args[${at}]`, "token"),
        fix: "Every user of this machine can read it there. Let the program take it from its environment: `env` with a reference.",
      };
  }
}

function literal(server: string, place: string, name: string): DoctorFinding {
  const key = name.replace(/[^\w.-]/g, "_").replace(/^-+/, "") || "token";
  return warn(
    check,
    `Server \`${server}\`: \`${place}\` looks like a secret that is written out.`,
    `\`postern secrets set ${server} ${key}\`, then write \`secret://${server}/${key}\` in its place.`,
  );
}

/** A guess by the name, if the value could be a secret, or by the value. */
function isLiteralSecret(name: string, value: string, patterns: SecretPatterns): boolean {
  if (value.includes("secret://") && referencesIn(value).length > 0) return false;
  return patterns.suspects(value).length > 0 || looksSecret(name, value);
}

function isSecretArgument(word: string, before: string, patterns: SecretPatterns): boolean {
  const [, flag = before, value = word] = /^(-[^=]*)=(.*)$/s.exec(word) ?? [];
  return flag.startsWith("-") && !value.startsWith("-")
    ? isLiteralSecret(flag, value, patterns)
    : patterns.suspects(word).length > 0;
}
