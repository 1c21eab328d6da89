/**
 * The servers in the file of a client, as Postern's configuration has them.
 *
 * Invariant: nothing that could be a secret is in `config` or in a note. Whatever is left out has a note.
 */

import { homedir } from "node:os";
import { basename, dirname, isAbsolute, resolve } from "node:path";
import { isRecord, type Json, ownServer } from "@postern/core";
import { secretsUnder } from "../../secrets/configured-values.ts";
import { loadPatterns } from "../../secrets/patterns.ts";
import { serverNamePattern } from "../../tools/upstream-names.ts";
import { formatOf, parsedFile, serversIn } from "./client-edit.ts";
import { refused } from "./client-format.ts";
import { clientKinds } from "./clients.ts";
import {
  holdsSecret,
  type ImportedSecret,
  type ImportedText,
  type ImportedVariable,
  type TextPlace,
  type TextSources,
  withSecretReferences,
  withVariables,
} from "./imported-text.ts";

export interface ImportedServer {
  readonly name: string;
  /** In the form of `servers.NAME`. */
  readonly config: Readonly<Record<string, Json>>;
  readonly secrets: readonly ImportedSecret[];
  readonly variables: readonly ImportedVariable[];
}

export interface ImportedFile {
  readonly servers: readonly ImportedServer[];
  /** What is not as in the client: a sentence each. */
  readonly notes: readonly string[];
}

/** The file that is imported, and the folder of the new configuration. */
export interface ImportSource {
  readonly path: string;
  readonly text: string;
  readonly folder: string;
}

/** @throws RuntimeFault `request_invalid` for a file that is not valid, or holds no servers */
export async function importServers({ path, text, folder }: ImportSource): Promise<ImportedFile> {
  const format = await formatOf(path.toLowerCase().endsWith(".toml") ? "toml" : "json");
  const document = parsedFile(format, text, path);
  const entries = entriesIn(document, path, folder);
  if (entries.length === 0) {
    const keys = [...new Set(clientKinds.map(({ key }) => `\`${key}\``))].join(", ");
    throw refused(path, `holds no servers: there is nothing under ${keys}. Name the file of a client`);
  }
  const own = projectOf(path);
  const inputs = Array.isArray(document["inputs"]) ? document["inputs"] : [];
  const sources = { patterns: await loadPatterns(), inputs, project: own ?? folder };
  const notes: string[] = [];
  const names = new Set<string>();
  const servers = entries.flatMap(([given, entry]) => {
    if (given === ownServer) {
      notes.push(`\`${ownServer}\` is left out: it is Postern itself.`);
      return [];
    }
    const name = validName(given, names);
    if (name !== given)
      notes.push(`\`${given}\` is named \`${name}\` here: a name has 1 to 32 letters, digits, \`-\` and single \`_\`.`);
    names.add(name);
    const note = (sentence: string): void => void notes.push(`\`${name}\`: ${sentence}`);
    const folders = { project: own, isElsewhere: own !== undefined && own !== folder };
    const server = new EntryReader({ name, entry, note, sources, ...folders }).read();
    return server === undefined ? [] : [server];
  });
  return { servers, notes };
}

/** Claude Code keeps the servers of a project in its own file too. */
function entriesIn(
  document: Readonly<Record<string, unknown>>,
  path: string,
  folder: string,
): readonly (readonly [name: string, entry: Readonly<Record<string, unknown>>])[] {
  const keys = new Set(clientKinds.map(({ key }) => key));
  const projects = isRecord(document["projects"]) ? document["projects"] : {};
  const local = Object.hasOwn(projects, folder) ? projects[folder] : {};
  const lists = [document, isRecord(local) ? local : {}].flatMap((holder) =>
    [...keys].map((key) => serversIn(holder, key, path)),
  );
  return lists
    .flatMap((list) => Object.entries(list))
    .map(([name, entry]) => {
      if (isRecord(entry)) return [name, entry];
      throw refused(path, `has a server \`${name.slice(0, 80)}\` that is no object. Correct it in an editor first`);
    });
}

/** The project of a file that lies in one: its programs start there. */
function projectOf(path: string): string | undefined {
  if (basename(path) === ".mcp.json") return dirname(path);
  const folder = dirname(dirname(path));
  const isInProject = [".vscode", ".cursor", ".codex"].includes(basename(dirname(path))) && folder !== homedir();
  return isInProject ? folder : undefined;
}

function validName(given: string, taken: ReadonlySet<string>): string {
  const clean = given
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/_{2,}/g, "_")
    .replace(/^[-_]+/, "")
    .slice(0, 32)
    .replace(/[-_]+$/, "");
  const base = serverNamePattern.test(given) ? given : clean === "" ? "server" : clean;
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? base : `${base.slice(0, 29)}-${n}`;
    if (!taken.has(name)) return name;
  }
}

/** Members that are read. Every other one is named in a note. */
const readMembers: ReadonlySet<string> = new Set([
  ...["command", "args", "env", "env_vars", "cwd", "url", "serverUrl", "httpUrl", "type", "transport"],
  ...["headers", "http_headers", "env_http_headers", "bearer_token_env_var", "disabled", "enabled"],
  ...["timeout", "tool_timeout_sec", "startup_timeout_sec", "startup_timeout_ms"],
  ...["disabledTools", "excludeTools", "disabled_tools", "autoApprove", "alwaysAllow", "enabled_tools", "envFile"],
  ...["name", "description", "gallery", "version", "dev"], // nothing is lost without them
]);

interface EntryToRead {
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
  readonly note: (sentence: string) => void;
  readonly sources: TextSources;
  readonly project: string | undefined;
  /** Whether the new configuration is not in the project. */
  readonly isElsewhere: boolean;
}

class EntryReader {
  readonly #given: EntryToRead;
  readonly #secrets = new Map<string, ImportedSecret>();
  readonly #variables = new Map<string, ImportedVariable>();

  constructor(given: EntryToRead) {
    this.#given = given;
  }

  /** Returns undefined, with a note, for a server that Postern cannot reach. */
  read(): ImportedServer | undefined {
    const { name, entry, note } = this.#given;
    const url = textOf(entry["url"] ?? entry["serverUrl"] ?? entry["httpUrl"]);
    const command = textOf(entry["command"]);
    const type = textOf(entry["type"] ?? entry["transport"])?.toLowerCase();
    if (command === undefined && url === undefined) {
      note("it is left out: it has neither `command` nor `url`.");
      return undefined;
    }
    const isProgram = command !== undefined && (url === undefined || type === undefined || type === "stdio");
    if (command !== undefined && url !== undefined)
      note(`it has \`command\` and \`url\`; only \`${isProgram ? "command" : "url"}\` is used.`);
    const transport = transports.get(type ?? "");
    if (!isProgram && type !== undefined && transport === undefined) {
      note(`it is left out: Postern does not speak \`${type.slice(0, 40)}\`. Write a \`url\` of HTTP or HTTP+SSE.`);
      return undefined;
    }
    const unread = Object.keys(entry).filter((key) => !readMembers.has(key));
    if (unread.length > 0) note(`left out: ${unread.map((key) => `\`${key.slice(0, 40)}\``).join(", ")}.`);
    const config = {
      ...(isProgram ? this.#program(command) : this.#address(url ?? "", transport)),
      ...this.#settings(),
    };
    return { name, config, secrets: [...this.#secrets.values()], variables: [...this.#variables.values()] };
  }

  #program(command: string): Record<string, Json> {
    const { entry, project, isElsewhere } = this.#given;
    const args = Array.isArray(entry["args"]) ? entry["args"].map(String) : [];
    const env = { ...this.#environmentNames(), ...this.#references("env", entry["env"], (name) => name) };
    if (entry["envFile"] !== undefined) this.#given.note("its `envFile` is not read: write the variables under `env`.");
    const cwd = textOf(entry["cwd"]);
    const folder =
      cwd !== undefined ? this.#keep(withVariables(cwd, this.#place("cwd", "cwd"), this.#given.sources)) : undefined;
    const base = project ?? ".";
    const placed =
      folder === undefined
        ? isElsewhere
          ? base
          : undefined
        : isAbsolute(folder) || folder.startsWith("$")
          ? folder
          : resolve(base, folder);
    return {
      command: this.#keep(withVariables(command, this.#place("command", "command"), this.#given.sources)),
      ...(args.length > 0 && { args: args.map((word, at) => this.#argument(word, at, args[at - 1] ?? "")) }),
      ...(Object.keys(env).length > 0 && { env }),
      ...(placed !== undefined && { cwd: placed }),
    };
  }

  #address(url: string, transport: "http" | "sse" | undefined): Record<string, Json> {
    const { entry, sources } = this.#given;
    const token = textOf(entry["bearer_token_env_var"]);
    const named = isRecord(entry["env_http_headers"]) ? Object.entries(entry["env_http_headers"]) : [];
    const lower = (name: string): string => name.toLowerCase();
    const headers = {
      ...(token !== undefined && { authorization: `Bearer ${this.#variable(token)}` }),
      ...Object.fromEntries(named.map(([header, name]) => [lower(header), this.#variable(String(name))])),
      ...this.#references("http_headers", entry["http_headers"], lower),
      ...this.#references("headers", entry["headers"], lower),
    };
    return {
      url: this.#keep(withSecretReferences(url, this.#place("url", "url"), sources)),
      ...(transport !== undefined && { transport }),
      ...(Object.keys(headers).length > 0 && { headers }),
    };
  }

  #settings(): Record<string, Json> {
    const { entry, note } = this.#given;
    const off = ["disabledTools", "excludeTools", "disabled_tools"].flatMap((key) => textsOf(entry[key]));
    const asked = ["autoApprove", "alwaysAllow"].flatMap((key) => textsOf(entry[key]));
    if (asked.length > 0)
      note(
        `the client ran ${asked.map((tool) => `\`${tool}\``).join(", ")} unasked; here a person is asked until you write their risk under \`tools\`.`,
      );
    if (entry["enabled_tools"] !== undefined)
      note(
        "it offers only its `enabled_tools` in the client; here switch off the others: `tools: { NAME: { enabled: false } }`.",
      );
    const callMs = millisecondsOf(entry["tool_timeout_sec"], 1_000) ?? millisecondsOf(entry["timeout"], 1);
    const startMs =
      millisecondsOf(entry["startup_timeout_sec"], 1_000) ?? millisecondsOf(entry["startup_timeout_ms"], 1);
    return {
      ...((entry["disabled"] === true || entry["enabled"] === false) && { enabled: false }),
      ...(callMs !== undefined && { call_timeout_ms: callMs }),
      ...(startMs !== undefined && { start_timeout_ms: startMs }),
      ...(off.length > 0 && {
        tools: Object.fromEntries(off.map((tool) => [tool, { enabled: false, optional: true }])),
      }),
    };
  }

  /** Variables that the client passes on by their names. */
  #environmentNames(): Record<string, string> {
    const given = this.#given.entry["env_vars"];
    const names = Array.isArray(given) ? given.map((one) => (isRecord(one) ? one["name"] : one)) : [];
    const usable = names.filter((name): name is string => typeof name === "string" && /^[A-Za-z_]\w*$/.test(name));
    return Object.fromEntries(usable.map((name) => [name, this.#variable(name)]));
  }

  #references(member: string, values: unknown, nameOf: (name: string) => string): Record<string, string> {
    const entries = isRecord(values) ? Object.entries(values) : [];
    return Object.fromEntries(
      entries.flatMap(([given, value]) => {
        const name = nameOf(given);
        if (name === "" || value === null || typeof value === "object") return [];
        return [
          [
            name,
            this.#keep(
              withSecretReferences(String(value), this.#place(name, `${member}.${given}`), this.#given.sources),
            ),
          ],
        ];
      }),
    );
  }

  /** `--token VALUE`, `--token=VALUE`, `TOKEN=VALUE`, `Authorization: VALUE`, or a value alone. */
  #argument(word: string, at: number, before: string): string {
    const { sources } = this.#given;
    const where = `args[${at}]`;
    const [, flag] = word.startsWith("-") ? [] : (/^--?([A-Za-z][\w-]*)$/.exec(before) ?? []);
    const isOfFlag = flag !== undefined && secretsUnder(flag, word).length > 0;
    const [, label, separator = "", value = ""] =
      isOfFlag || /^[a-z][a-z\d+.-]*:\/\//i.test(word)
        ? []
        : (/^(-{0,2}[A-Za-z][\w.-]*)(=|:\s*)(.+)$/s.exec(word) ?? []);
    if (label === undefined || holdsSecret(label, "label", sources))
      return this.#keep(withVariables(word, this.#place(flag ?? `argument_${at + 1}`, where), sources));
    const text = this.#keep(withVariables(value, this.#place(label.replace(/^-+/, ""), where), sources));
    return `${label}${separator}${text}`;
  }

  #variable(name: string): string {
    this.#variables.set(name, { name });
    return `\${${name}}`;
  }

  #place(name: string, where: string): TextPlace {
    return { server: this.#given.name, name, where: `\`${where}\` of \`${this.#given.name}\`` };
  }

  #keep({ text, secrets, variables }: ImportedText): string {
    for (const secret of secrets) this.#secrets.set(secret.key, secret);
    for (const variable of variables) this.#variables.set(variable.name, variable);
    return text;
  }
}

/** By the words that clients use. Streamable HTTP is what Postern tries by itself. */
const transports: ReadonlyMap<string, "http" | "sse"> = new Map([
  ["http", "http"],
  ["streamable-http", "http"],
  ["streamablehttp", "http"],
  ["streamable_http", "http"],
  ["sse", "sse"],
]);

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string" && one !== "") : [];
}

function millisecondsOf(value: unknown, unitMs: number): number | undefined {
  const ms = typeof value === "number" ? Math.round(value * unitMs) : 0;
  return ms >= 1_000 && ms <= 86_400_000 ? ms : undefined;
}
