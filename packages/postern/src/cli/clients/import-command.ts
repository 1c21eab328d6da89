/** `postern init --from FILE`: writes a configuration with the servers of a client, and offers to store their secrets. */
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { counted, defined } from "@postern/core";
import { makeOwnFolder } from "@postern/core/system";
import { commandName, quoted } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { readNamed } from "../named-files.ts";
import { confirm } from "../output/confirm.ts";
import { type CommandInput, print } from "../output/print.ts";
import { visible } from "../output/text.ts";
import { settingsFor } from "../settings-here.ts";
import { clientKinds, thisMachine } from "./clients.ts";
import { type ImportedFile, type ImportedServer, importServers } from "./imported-servers.ts";
import type { ImportedSecret } from "./imported-text.ts";

export interface ImportWish {
  readonly file: string;
  /** Of the new configuration. */
  readonly folder: string;
  /** The configuration that `init` writes without servers. */
  readonly start: string;
  readonly write: (text: string) => Promise<{ readonly files: readonly string[]; readonly advice: string }>;
}

export async function importFrom(typed: CommandInput, { file, folder, start, write }: ImportWish): Promise<ExitCode> {
  const path = resolve(file);
  const found = await importServers({ path, text: await readNamed(path), folder });
  const { files, advice } = await write(await configurationWith(found, start, basename(path)));
  const secrets = found.servers.flatMap((server) => server.secrets);
  const here = { ...typed.flags, config: folder === process.cwd() ? typed.flags.config : join(folder, "postern.yaml") };
  const place: CommandInput = { host: typed.host, flags: defined(here) };
  if (typed.flags.json !== true)
    typed.host.terminal.out(`Wrote ${files.join(", ")} in ${folder}.\n${summaryOf(found)}${advice}`);
  const stored = await offerSecrets(place, secrets, { folder, file: path });
  const open = secrets.filter((secret) => !stored.has(nameOf(secret)));
  const next = `${await storeCommands(place, open, folder)}${nextOf(place)}`;
  print(typed, answerOf({ folder, files, found, stored }), next);
  return exitCodes.ok;
}

/** Lists the known files of clients; changes nothing. */
export function listClientFiles(typed: CommandInput, folder: string): ExitCode {
  const machine = thisMachine(folder);
  const all = clientKinds.flatMap(({ id, title, files }) =>
    files(machine).map((file) => ({ client: id, title, file })),
  );
  const found = all.filter(({ file }) => existsSync(file));
  const lines = (found.length === 0 ? all : found).map(({ title, file }) => `  ${title.padEnd(15)} ${visible(file)}\n`);
  const first = found.length === 0 ? "No file of a client is here. Their places are:\n" : "Files of clients:\n";
  const command = `${commandName(typed.flags)} init --from ${quoted(found[0]?.file ?? "FILE")}`;
  print(typed, { found, known: all }, `${first}${lines.join("")}Next: ${command}\n`);
  return exitCodes.ok;
}

/** The example of a tool and of servers goes; the rest of the file is as `init` writes it. */
async function configurationWith({ servers }: ImportedFile, start: string, from: string): Promise<string> {
  const { stringify } = await import("yaml");
  const [head = ""] = start.split(/^tools:/m);
  const list = Object.fromEntries(servers.map(({ name, config }) => [name, config]));
  const title = `# From ${from.replace(/[^\w.-]/g, "_")}. A tool is \`high\`, so a person is asked, until you state its risk under \`tools\` of its server.
# \`postern tools NAME\` shows a guess and the line to write: { risk: safe, effects: read, idempotent: true }\n`;
  return `${head}${title}${stringify({ servers: list }, { lineWidth: 0 })}`;
}

/** Names only: no value of the file is repeated. */
function summaryOf({ servers, notes }: ImportedFile): string {
  const width = Math.max(0, ...servers.map(({ name }) => name.length));
  const lines = servers.map((server) => `  ${server.name.padEnd(width)}  ${partsOf(server)}\n`);
  const variables = new Map(servers.flatMap((server) => server.variables.map((one) => [one.name, one])));
  const needed = [...variables.values()]
    .filter(({ name }) => name !== "HOME")
    .map(({ name, why }) => `  ${name}${why === undefined ? "" : `: ${visible(why)}`}\n`);
  return [
    `${counted(servers.length, "server")}:\n`,
    ...lines,
    ...notes.map((note) => `Note: ${visible(note)}\n`),
    ...(needed.length === 0 ? [] : ["Set these variables where Postern runs:\n", ...needed]),
  ].join("");
}

function partsOf({ config }: ImportedServer): string {
  const named = (["env", "headers"] as const).flatMap((part) => {
    const names = Object.keys(config[part] ?? {});
    return names.length === 0 ? [] : [`${part}: ${names.map(visible).join(", ")}`];
  });
  const off = config["enabled"] === false ? ["off"] : [];
  return [config["url"] === undefined ? "a program" : "an address", ...named, ...off].join("; ");
}

/** Asks at a terminal. Returns the names that were stored. */
async function offerSecrets(
  typed: CommandInput,
  secrets: readonly ImportedSecret[],
  { folder, file }: { readonly folder: string; readonly file: string },
): Promise<ReadonlySet<string>> {
  const values = new Map(
    secrets.flatMap((one) => (one.value === undefined ? [] : [[nameOf(one), one.value] as const])),
  );
  const { terminal } = typed.host;
  if (values.size === 0 || !terminal.interactive || typed.flags.json === true) return new Set();
  terminal.out(secrets.map((secret) => `  ${nameOf(secret)}  from ${visible(secret.where)}\n`).join(""));
  const what = counted(values.size, "secret");
  if (!(await confirm(terminal, `Put ${what} of ${visible(file)} into the sealed store of ${visible(folder)}?`)))
    return new Set();
  const { sealedPlace, storeSecrets } = await import("../commands/secrets.ts");
  const settings = await settingsFor(typed.flags);
  makeOwnFolder(settings.dataFolder);
  await storeSecrets(typed, sealedPlace(settings), values);
  terminal.out(`Stored ${what}. They are still in ${visible(file)}: remove them there when its client uses Postern.\n`);
  return new Set(values.keys());
}

/** How the remaining secrets are set, without their values. */
async function storeCommands(typed: CommandInput, secrets: readonly ImportedSecret[], folder: string): Promise<string> {
  if (secrets.length === 0) return "";
  const { dataFolder } = await settingsFor(typed.flags);
  const make = existsSync(dataFolder) ? "" : `  mkdir -m 700 ${quoted(dataFolder)}\n`;
  const lines = secrets.map(({ connector, key, where, value }) => {
    const from = value === undefined ? `is asked for or put together in ${where}` : `is in ${where}`;
    return `  ${commandName(typed.flags)} secrets set ${connector} ${key}   # ${visible(from)}\n`;
  });
  return `Store the secrets; each command asks for the value without showing it (${visible(folder)} holds only their names):\n${make}${lines.join("")}`;
}

function nextOf({ flags }: CommandInput): string {
  return `Next: ${commandName(flags)} start\n`;
}

function answerOf({
  folder,
  files,
  found,
  stored,
}: {
  readonly folder: string;
  readonly files: readonly string[];
  readonly found: ImportedFile;
  readonly stored: ReadonlySet<string>;
}): unknown {
  const servers = found.servers.map(({ name, secrets, variables }) => ({
    name,
    secrets: secrets.map(({ connector, key, where }) => ({
      connector,
      key,
      where,
      stored: stored.has(`${connector}/${key}`),
    })),
    variables: variables.map((one) => one.name),
  }));
  return { folder, files, servers, notes: found.notes };
}

function nameOf({ connector, key }: ImportedSecret): string {
  return `${connector}/${key}`;
}
