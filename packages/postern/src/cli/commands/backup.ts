import { rm } from "node:fs/promises";
import { counted, RuntimeFault } from "@postern/core";
import { removeTemporaryFolder, temporaryFolder } from "@postern/core/system";
import { type CheckedBackup, type ReadingBackup, restoreBackup, unpackBackup } from "../../backup/read-backup.ts";
import type { CommandGroup } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { readNamed, writeNamed } from "../named-files.ts";
import { print, withPostern } from "../output/print.ts";
import { visible } from "../output/text.ts";
import { UsageProblem } from "../usage-problem.ts";

/** Asks the Postern of the data folder, because only the process that has the store open can copy it; then reads the file again. */
export function commands(group: CommandGroup): void {
  group.own("<file>", {
    words: { "<file>": "a new file" },
    options: { "--recipient <age1…>": "seal keys and tokens to it; without it they are left out" },
    run: ({ sent: { file }, options, ...typed }) =>
      withPostern(typed, {}, async (work) => {
        const { recipient } = options as { readonly recipient?: string };
        await writeNamed(file, work.operator.backups.make(recipient === undefined ? {} : { recipient }));
        const checked = await checkedOrRemoved(file, { now: work.now() });
        await work.operator.backups.checked({ taken_at: checked.manifest.taken_at });
        print(
          work,
          answerOf(file, checked),
          `${summaryOf(checked)}\n${signerText(checked)}${keysText(checked)}Written to ${visible(file)}.\n`,
        );
        return exitCodes.ok;
      }),
  });
}

export function restoreCommands(group: CommandGroup): void {
  group.own("<file>", {
    words: { "<file>": "a file that `postern backup` wrote" },
    options: {
      "--to <folder>": "the new data folder: empty, or not there",
      "--check": "prove the log and the open requests; nothing stays on the disk",
      "--identity <file>": "the age identity that opens the keys",
      "--public-key <file>": "`audit.pub`, kept elsewhere: the key that must have signed the log",
    },
    run: async ({ host, flags, sent: { file }, options }) => {
      const { to, check, identity: identityFile, publicKey: keyFile } = options;
      if ((to === undefined) === (check === undefined))
        throw new UsageProblem("Name the new data folder with `--to FOLDER`, or prove the backup with `--check`.");
      const publicKey = keyFile === undefined ? undefined : await readNamed(keyFile);
      const reading = { now: host.clock.now(), publicKey };
      if (to === undefined) {
        const checked = await proved(file, reading);
        print(
          { host, flags },
          answerOf(file, checked),
          `${summaryOf(checked)}\n${signerText(checked, publicKey)}The backup is whole.\n`,
        );
        return exitCodes.ok;
      }
      const identity = identityFile === undefined ? undefined : identityIn(await readNamed(identityFile));
      const restored = await restoreBackup(file, to, { ...reading, identity });
      const { keys, manifest } = restored;
      const text = `${summaryOf(restored)}\n${signerText(restored, publicKey)}Restored into ${visible(to)}.\n${keysAfter(keys, manifest.keys.names, to)}`;
      print({ host, flags }, { ...answerOf(file, restored), folder: to, keys_restored: keys === "restored" }, text);
      return exitCodes.ok;
    },
  });
}

async function proved(file: string, reading: ReadingBackup): Promise<CheckedBackup> {
  const folder = temporaryFolder("backup");
  try {
    return await unpackBackup(file, folder, reading);
  } finally {
    removeTemporaryFolder(folder);
  }
}

/** A backup that does not pass its check is not kept: it would be trusted. */
async function checkedOrRemoved(file: string, reading: ReadingBackup): Promise<CheckedBackup> {
  try {
    return await proved(file, reading);
  } catch (error) {
    await rm(file, { force: true });
    if (!(error instanceof RuntimeFault)) throw error;
    const message = `${error.message} The file was removed. Run \`postern audit verify\` and make another backup.`;
    throw new RuntimeFault("backup_damaged", message, { cause: error });
  }
}

function answerOf(file: string, { manifest, events, head, waiting }: CheckedBackup): object {
  const { taken_at, postern, schema, rows, keys, files } = manifest;
  const read = { file, taken_at, postern, schema, events, head, waiting, rows, files: files.length, keys };
  return { ...read, public_key: manifest.log.public_key };
}

function summaryOf({ manifest, events, head, waiting }: CheckedBackup): string {
  const { calls } = manifest.rows;
  return `${manifest.taken_at}: ${counted(calls, "call")}, ${counted(waiting, "open request")}, ${counted(events, "event")}, log intact, head ${head}`;
}

/** A forged backup has a forged key in it. */
function signerText({ manifest }: CheckedBackup, required?: string): string {
  const key = visible(manifest.log.public_key);
  return required === undefined
    ? `Log signed by ${key}; compare it with the \`audit.pub\` that you keep elsewhere.\n`
    : `Log signed by the given key, ${key}.\n`;
}

function keysText({ manifest: { keys } }: CheckedBackup): string {
  const names = keys.names.map((name) => `\`${name}\``).join(", ");
  if (keys.names.length === 0) return "";
  return keys.sealed_to === null
    ? `Left out, keep them elsewhere: ${names}. \`--recipient age1…\` seals them into the backup.\n`
    : `Sealed to ${keys.sealed_to}: ${names}.\n`;
}

function keysAfter(keys: "restored" | "sealed" | "left out", names: readonly string[], folder: string): string {
  if (keys === "restored" || names.length === 0) return "";
  const list = names.map((name) => `\`${name}\``).join(", ");
  const how = keys === "sealed" ? ", or restore again with `--identity FILE`" : "";
  return `Put these keys into ${visible(folder)} before you start${how}: ${list}.\n`;
}

/** The file of `age-keygen` has comments beside the identity. */
function identityIn(text: string): string {
  return (
    text
      .split("\n")
      .find((line) => line.startsWith("AGE-SECRET-KEY-"))
      ?.trim() ?? text.trim()
  );
}
