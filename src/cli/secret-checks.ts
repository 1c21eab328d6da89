import { messageOf } from "../core/fault.ts";
import { looksSecret } from "../secrets/configured-values.ts";
import { openSecrets, type SecretSettings } from "../secrets/open-secrets.ts";
import { loadPatterns, type SecretPatterns } from "../secrets/patterns.ts";
import { createRedactor } from "../secrets/redactor.ts";
import { openSealed } from "../secrets/sealed-file.ts";
import { learnReferences, referencesIn, secretReferences } from "../secrets/secret-reference.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import type { DoctorFinding } from "./checks.ts";

export interface SecretUse {
  readonly secrets: SecretStore | undefined;
  readonly secretSettings: SecretSettings;
  readonly servers: Readonly<Record<string, ServerTexts>>;
  readonly accounts: { readonly openId?: { readonly clientSecret?: string | undefined } | undefined };
  readonly chains?: ChainsTexts | undefined;
  readonly channels?: { readonly webhooks?: readonly { readonly url: string; readonly secret?: string }[] } | undefined;
}

/** What of engines that run elsewhere may refer to a secret. */
interface ChainsTexts {
  readonly engineSettings?: { readonly kubernetes?: { readonly token?: unknown } };
}

/** What of a server's configuration may refer to a secret, or be one. */
export interface ServerTexts {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const check = "secrets";

/** Whether the sealed file opens, every reference can be had, and nobody wrote a value where a reference belongs. Says nothing where there is nothing to say. */
export async function* secretChecks(use: SecretUse): AsyncGenerator<DoctorFinding> {
  try {
    yield* sealed(use);
    yield* references(use);
  } catch (error) {
    yield { level: "fail", check, message: messageOf(error) };
  }
  yield* literals(use.servers);
}

async function* sealed({ secrets, secretSettings }: SecretUse): AsyncGenerator<DoctorFinding> {
  if (secrets !== undefined || !secretSettings.backends.includes("sealed")) return;
  const opened = await openSealed({ ...secretSettings, environment: process.env });
  if (opened !== undefined)
    yield { level: "ok", check, message: `${secretSettings.file} opens; it holds ${opened.entries.size}` };
}

async function* references(use: SecretUse): AsyncGenerator<DoctorFinding> {
  const { secrets, secretSettings, servers, accounts, channels, chains } = use;
  const told = (channels?.webhooks ?? []).flatMap(({ url, secret = "" }) => secretReferences([url, secret]));
  const lent = Object.values(servers).flatMap(({ env = {}, url = "", headers = {} }) =>
    secretReferences([url, ...Object.values(env), ...Object.values(headers)]),
  );
  const token = chains?.engineSettings?.kubernetes?.token;
  const own = [accounts.openId?.clientSecret, token].filter((text) => typeof text === "string");
  const named = [...lent, ...told, ...secretReferences(own)];
  if (named.length === 0) return;
  const redactor = createRedactor();
  const store = secrets ?? (await openSecrets(secretSettings, redactor));
  for (const { reference, problem } of await learnReferences(named, store, redactor)) {
    const fix = `Give it, or remove \`secret://${reference.connector}/${reference.key}\` from the configuration.`;
    yield { level: "warn", check, message: problem, fix };
  }
}

async function* literals(servers: SecretUse["servers"]): AsyncGenerator<DoctorFinding> {
  const patterns = await loadPatterns();
  for (const [server, { args = [], env = {}, headers = {}, url = "" }] of Object.entries(servers)) {
    for (const [place, values] of Object.entries({ env, headers })) {
      for (const [name, value] of Object.entries(values))
        if (isLiteralSecret(name, value, patterns)) yield literal(server, `${place}.${name}`, name);
    }
    if (patterns.suspects(url).length > 0) yield literal(server, "url", "url");
    const at = args.findIndex((word, i) => isSecretArgument(word, args[i - 1] ?? "", patterns));
    if (at >= 0)
      yield {
        ...literal(server, `args[${at}]`, "token"),
        fix: "Everybody on this machine can read it there. Let the program take it from its environment: `env` with a reference.",
      };
  }
}

function literal(server: string, place: string, name: string): DoctorFinding {
  const key = name.replace(/[^\w.-]/g, "_").replace(/^-+/, "") || "token";
  return {
    level: "warn",
    check,
    message: `Server \`${server}\`: \`${place}\` looks like a secret that is written out.`,
    fix: `\`postern secrets set ${server} ${key}\`, then write \`secret://${server}/${key}\` in its place.`,
  };
}

/** A guess: by the name, when the value could be one, or by the value. */
function isLiteralSecret(name: string, value: string, patterns: SecretPatterns): boolean {
  if (value.includes("secret://") && referencesIn(value).length > 0) return false;
  if (patterns.suspects(value).length > 0) return true;
  return looksSecret(name, value);
}

function isSecretArgument(word: string, before: string, patterns: SecretPatterns): boolean {
  const [, flag = before, value = word] = /^(-[^=]*)=(.*)$/s.exec(word) ?? [];
  return flag.startsWith("-") && !value.startsWith("-")
    ? isLiteralSecret(flag, value, patterns)
    : patterns.suspects(word).length > 0;
}
