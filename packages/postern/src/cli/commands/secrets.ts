import { messageOf, RuntimeFault } from "@postern/core";
import type { Settings } from "../../config/settings.ts";
import { changeSealed, openSealed, type SealedPlace } from "../../secrets/sealed-file.ts";
import { checkSecretName, checkSecretValue, maxValueBytes, secretValue } from "../../secrets/secret-name.ts";
import { readHiddenInput } from "../approver/hidden-input.ts";
import type { CommandGroup } from "../command.ts";
import { commandName } from "../command-name.ts";
import { exitCodes } from "../exit-codes.ts";
import { type CommandInput, print, withPostern } from "../output/print.ts";
import { settingsFor } from "../settings-here.ts";
import { requireDataFolder } from "../start/data-folder.ts";
import { UsageProblem } from "../usage-problem.ts";

export function commands(group: CommandGroup): void {
  group.run("set <connector> <key>", "store a value, read from standard input; a running Postern has it at once", {
    takesExtraWords: true, // one may be a value, so its refusal does not repeat it
    run: async ({ sent: { connector, key }, extraWords, ...typed }) => {
      if (extraWords.length > 0)
        throw new UsageProblem(
          "The value is read from standard input. One that was typed here is in your shell's history now: change it, and remove it there.",
        );
      const { name, reference } = named(connector, key);
      const place = await placeOf(typed);
      const bytes = await readHiddenInput(typed.host.terminal, `Value of ${name} (not shown): `, maxValueBytes + 2);
      const value = secretValue(bytes, name);
      const { replaced, recorded } = await storeSecrets(typed, place, new Map([[name, value]]));
      const text = `${replaced ? "Replaced" : "Set"} ${name}. Use it in the configuration as ${reference}\n`;
      print(typed, { connector, key, reference, file: place.file, replaced, recorded }, text);
      return exitCodes.ok;
    },
  });
  removeCommand(group);
  group.run("list", "the names, never a value", {
    run: async ({ host, flags }) => {
      const opened = await openSealed(await placeOf({ host, flags }));
      const names = [...(opened?.entries.keys() ?? [])];
      const secrets = names.map((name) => {
        const [connector = "", key = ""] = name.split("/");
        return { connector, key, reference: `secret://${name}` };
      });
      const none = `None is set. \`${commandName(flags)} secrets set CONNECTOR KEY\` sets one.\n`;
      print({ host, flags }, { secrets }, names.length === 0 ? none : names.map((name) => `${name}\n`).join(""));
      return exitCodes.ok;
    },
  });
}

function removeCommand(group: CommandGroup): void {
  group.run("remove <connector> <key>", "remove a value", {
    run: async ({ sent: { connector, key }, host, flags }) => {
      const { name, reference } = named(connector, key);
      const place = await placeOf({ host, flags });
      await changeSealed(place, (entries) => {
        if (entries.has(name)) return new Map([...entries].filter(([other]) => other !== name));
        throw new RuntimeFault(
          "secret_missing",
          `There is no secret \`${name}\` in \`${place.file}\`; nothing was changed.`,
        );
      });
      const recorded = await record({ host, flags }, [name], "removed");
      const answer = { connector, key, reference, file: place.file, removed: true, recorded };
      print({ host, flags }, answer, `Removed ${name}.\n`);
      return exitCodes.ok;
    },
  });
}

/** Seals values by `connector/key`, all or none. */
export async function storeSecrets(
  typed: CommandInput,
  place: SealedPlace,
  values: ReadonlyMap<string, string>,
): Promise<{ readonly replaced: boolean; readonly recorded: boolean }> {
  for (const [name, value] of values) checkSecretValue(value, name);
  let replaced = false;
  await changeSealed(place, (entries) => {
    replaced = [...values.keys()].some((name) => entries.has(name));
    return new Map([...entries, ...values]);
  });
  return { replaced, recorded: await record(typed, [...values.keys()], "set") };
}

/** Records the names in the audit log of the running Postern, or of this folder if none runs. */
async function record(typed: CommandInput, names: readonly string[], act: "set" | "removed"): Promise<boolean> {
  try {
    await withPostern(typed, {}, async ({ operator }) => {
      for (const name of names) {
        const [connector = "", key = ""] = name.split("/");
        await operator.secrets.changed({ connector, key, act });
      }
    });
    return true;
  } catch (error) {
    typed.host.terminal.aside(`It was ${act}, but the audit log has no record: ${messageOf(error)}\n`);
    return false;
  }
}

function named(connector: string, key: string): { readonly name: string; readonly reference: string } {
  try {
    checkSecretName(connector, key);
  } catch (error) {
    throw error instanceof RuntimeFault ? new UsageProblem(error.message) : error;
  }
  return { name: `${connector}/${key}`, reference: `secret://${connector}/${key}` };
}

async function placeOf({ flags }: CommandInput): Promise<SealedPlace> {
  const settings = await settingsFor(flags);
  requireDataFolder(settings.dataFolder);
  return sealedPlace(settings);
}

/** @throws RuntimeFault `config_invalid` when no store would ever read what is set */
export function sealedPlace({ secretSettings, secrets }: Settings): SealedPlace {
  const { backends, file, keyFile } = secretSettings;
  if (secrets === undefined && backends.includes("sealed")) return { file, keyFile, environment: process.env };
  const used = secrets === undefined ? backends.map((name) => `\`${name}\``).join(", ") : "a store of your own";
  throw new RuntimeFault(
    "config_invalid",
    `The configuration takes secrets from ${used}, so what is set here would never be read; set it there, or add \`sealed\` to \`secrets.backend\`.`,
  );
}
