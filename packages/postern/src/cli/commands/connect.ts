import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type ClientEdit,
  editFor,
  type JsonObject,
  nearest,
  ownServer,
  RuntimeFault,
  tokenVariable,
} from "@postern/core";
import { noConfiguration } from "../../config/find-file.ts";
import type { Settings } from "../../config/settings.ts";

import { readWhole, writeWhole } from "../../system/whole-file.ts";
import { addedTo, formatOf, parsedFile, removedFrom, serversIn } from "../clients/client-edit.ts";
import {
  backupOf,
  bytesFor,
  type ClientFile,
  readClientFile,
  replaceClientFile,
  textIn,
} from "../clients/client-file.ts";
import { type EditPlace, type FileFormat, refused } from "../clients/client-format.ts";
import { type ClientKind, clientKinds, thisMachine } from "../clients/clients.ts";
import type { CommandGroup, TypedCommand } from "../command.ts";
import { commandName, quoted } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { confirm } from "../output/confirm.ts";
import { type CommandInput, print } from "../output/print.ts";
import { visible, visibleLines } from "../output/text.ts";
import { settingsFor } from "../settings-here.ts";
import { remoteUrl } from "../start/remote.ts";
import { UsageProblem } from "../usage-problem.ts";

const words = { "<client>": clientKinds.map(({ id }) => id).join(", ") };
const changeOptions = {
  "--file <path>": "the file of the client (default: that of this project, or of this user)",
  "--yes": "write without asking",
} as const;

/** `postern connect`. */
export function commands(group: CommandGroup): void {
  group.own("<client>", {
    words,
    options: { ...changeOptions, "--stdio": "let the client start Postern, or join it, over pipes: needs no token" },
    run: async (typed) => {
      const opened = await openClient(typed);
      const settings = await settingsFor(typed.flags);
      const edit = editFor(opened.client, entryFor(opened.client, settings, typed));
      const { file, text, format, path } = opened;
      const present = ownEntry(opened);
      if (present !== undefined && JSON.stringify(present) !== JSON.stringify(edit.entry))
        throw refused(
          path,
          `has another server \`${ownServer}\`. \`postern disconnect ${opened.client.id}\` removes it`,
        );
      if (present !== undefined) {
        printChange(
          typed,
          { ...opened, changed: false },
          `\`${visible(path)}\` has this server already; nothing was written.\n`,
        );
        return exitCodes.ok;
      }
      const after = bytesFor(file, addedTo(format, text, { ...edit, path }));
      const backup = file.bytes === undefined ? undefined : backupOf(path, after);
      return change(typed, opened, {
        ...{ edit, after, verb: "Connected" },
        next: nextSteps(opened.client, edit, settings, typed),
        ...(backup !== undefined && { backup }),
        write: async () => {
          if (backup !== undefined && file.bytes !== undefined) await writeWhole(backup, file.bytes);
          await replaceClientFile(file, after).catch(async (error: unknown) => {
            if (backup !== undefined) await rm(backup, { force: true });
            throw error;
          });
        },
      });
    },
  });
}

/** `postern disconnect`. */
export function disconnectCommands(group: CommandGroup): void {
  group.own("<client>", {
    words,
    options: changeOptions,
    run: async (typed) => {
      const opened = await openClient(typed);
      const { file, path, client } = opened;
      const entry = ownEntry(opened);
      if (file.bytes === undefined || entry === undefined)
        throw new RuntimeFault(
          "request_invalid",
          `\`${path}\` has no server \`${ownServer}\`; nothing was written. Name another file: \`--file PATH\`.`,
        );
      const edit = editFor(client, entry);
      const { after, how, backup } = await disconnected(opened, edit, file.bytes);
      return change(typed, opened, {
        ...{ edit, after, verb: "Disconnected", next: `${how}\n` },
        write: async () => {
          await replaceClientFile(file, after);
          if (backup !== undefined) await rm(backup, { force: true });
        },
      });
    },
  });
}

/** The file without Postern. `backup`: it was restored from there. */
async function disconnected(
  { file, path, text, format }: OpenedClient,
  edit: ClientEdit,
  written: Buffer,
): Promise<{ readonly after: Buffer | undefined; readonly how: string; readonly backup?: string }> {
  const backup = backupOf(path, written);
  const before = await readWhole(backup);
  if (before !== undefined)
    return { after: Buffer.from(before), how: "It is as before `connect`, byte for byte.", backup };
  if (format.added("", edit) === text) return { after: undefined, how: "`connect` had made the file, so it is gone." };
  return {
    after: bytesFor(file, removedFrom(format, text, { ...edit, path })),
    how: "The file is not as `connect` wrote it, so only this server was removed. A copy beside it (`.before-postern-…`) stays.",
  };
}

type ClientCommand = TypedCommand<
  { readonly client: string },
  { readonly file?: string; readonly yes?: true; readonly stdio?: true }
>;

interface OpenedClient {
  readonly client: ClientKind;
  readonly path: string;
  readonly file: ClientFile;
  readonly text: string;
  readonly format: FileFormat;
}

async function openClient({ sent: { client: id }, options }: ClientCommand): Promise<OpenedClient> {
  const client = clientKinds.find((one) => one.id === id);
  if (client === undefined) {
    const ids = clientKinds.map((one) => one.id);
    const meant = nearest(id, ids);
    const guess = meant === undefined ? "" : ` Did you mean \`${meant}\`?`;
    throw new UsageProblem(`\`${visible(id)}\` is none of the clients: ${ids.join(", ")}.${guess}`);
  }
  const [place = ""] = client.files(thisMachine(process.cwd()));
  const path = resolve(options.file ?? place);
  const file = await readClientFile(path);
  return { client, path, file, text: textIn(file), format: await formatOf(client.format) };
}

function ownEntry({ format, text, path, client }: OpenedClient): JsonObject | undefined {
  const servers = serversIn(parsedFile(format, text, path), client.key, path);
  return Object.hasOwn(servers, ownServer) ? (structuredClone(servers[ownServer]) as JsonObject) : undefined; // it was parsed from JSON or TOML
}

function entryFor(client: ClientKind, settings: Settings, { flags, options }: ClientCommand): JsonObject {
  const { file, listen } = settings;
  if (flags.url !== undefined) return elsewhere(client, remoteUrl(flags.url), options.stdio === true);
  if (file === undefined) throw noConfiguration(process.cwd());
  if (client.http === undefined || options.stdio === true) {
    const bin = fileURLToPath(new URL("../../../bin/postern.js", import.meta.url));
    const data = flags.data === undefined ? [] : ["--data", resolve(flags.data)];
    return client.stdio(process.execPath, [bin, "--config", file, ...data, "start", "--stdio"]);
  }
  return client.http(addressOf(listen));
}

/** @throws UsageProblem for a client that only starts programs */
function elsewhere({ http, title }: ClientKind, url: string, stdio: boolean): JsonObject {
  if (http !== undefined && !stdio) return http(`${url}/mcp`);
  throw new UsageProblem(`With \`--stdio\` ${title} starts Postern on this machine, so \`--url\` cannot name another.`);
}

function addressOf({ host, port }: Settings["listen"]): string {
  if (port !== 0) return `http://${host.includes(":") ? `[${host}]` : host}:${port}/mcp`;
  throw new RuntimeFault(
    "config_invalid",
    "Postern listens on port 0 here, so its address changes with every start. Write another `listen.port`, or connect with `--stdio`.",
  );
}

function nextSteps(
  { title, token }: ClientKind,
  { entry }: ClientEdit,
  { dataFolder }: Settings,
  { flags }: ClientCommand,
): string {
  const restart = `Restart ${title}, or reload its servers.`;
  if (Object.hasOwn(entry, "command")) return `${restart}\n`;
  const own = `\`${commandName(flags)} tokens create NAME\` makes a token of its own`;
  if (flags.url !== undefined) {
    const takes =
      token === "prompt" ? "asks for the token when it first connects" : `reads the token from ${tokenVariable}`;
    return `${title} ${takes}: an administrator makes one where Postern runs, with \`postern tokens create NAME --user YOU\`.\n${restart}\n`;
  }
  const shared = `${dataFolder}/agent.token`;
  const where =
    token === "prompt"
      ? `${title} asks for the token when it first connects: type the content of ${shared}, or ${own}.`
      : `${title} reads the token from ${tokenVariable}; ${own}, or share the agent's:\n  export ${tokenVariable}="$(cat ${quoted(shared)})"`;
  return `${where}\nThen start Postern: ${commandName(flags)} start\n${restart}\n`;
}

interface ClientChange {
  readonly edit: EditPlace;
  /** Undefined: the file is removed. */
  readonly after: Buffer | undefined;
  readonly verb: string;
  readonly next: string;
  readonly backup?: string;
  readonly write: () => Promise<void>;
}

/** Shows the change, asks, writes. */
async function change(typed: ClientCommand, opened: OpenedClient, wanted: ClientChange): Promise<ExitCode> {
  const { host, options } = typed;
  const { terminal } = host;
  const diff = await diffOf(opened, wanted);
  if (typed.flags.json !== true) terminal.out(visibleLines(`${diff}\n`).join("\n"));
  if (options.yes !== true) {
    if (!terminal.interactive)
      throw new UsageProblem("Nothing was written: there is no terminal to ask at. Add `--yes` to write it.");
    if (!(await confirm(terminal, `Write ${visible(opened.path)}?`))) {
      terminal.aside("Nothing was written.\n");
      return exitCodes.failed;
    }
  }
  await wanted.write();
  const kept = wanted.backup === undefined ? "" : `As it was before: ${visible(wanted.backup)}\n`;
  const text = `${wanted.verb} ${opened.client.title}: ${visible(opened.path)}\n${kept}${wanted.next}`;
  printChange(typed, { ...opened, changed: true, ...wanted, diff }, text);
  return exitCodes.ok;
}

function printChange(
  { host, flags }: CommandInput,
  {
    client,
    path,
    changed,
    backup,
    diff,
  }: OpenedClient & { readonly changed: boolean; readonly backup?: string; readonly diff?: string },
  text: string,
): void {
  const answer = {
    client: client.id,
    file: path,
    server: ownServer,
    changed,
    ...(backup !== undefined && { backup }),
    ...(diff !== undefined && { diff }),
  };
  print({ host, flags }, answer, text);
}

/** Values of other servers are left out of both sides. */
async function diffOf(
  { file, text, format, path, client }: OpenedClient,
  { edit, after }: ClientChange,
): Promise<string> {
  const { unifiedDiff } = await import("../../builtin/files/preview.ts");
  const name = path.startsWith(`${homedir()}/`) ? `~${path.slice(homedir().length)}` : path;
  const masked = (content: string): string => format.masked(content, edit);
  const now = after === undefined ? "" : masked(textIn({ ...file, bytes: after }));
  const diff = await unifiedDiff(file.bytes === undefined ? "" : masked(text), now);
  return `--- ${name}\n+++ ${name} (${client.title})\n${diff}`;
}
