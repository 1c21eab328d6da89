import { messageOf, RuntimeFault } from "../../core/fault.ts";
import { changeSealed, openSealed, type SealedPlace } from "../../secrets/sealed-file.ts";
import { checkSecretName, maxValueBytes, secretValue } from "../../secrets/secret-name.ts";
import { commandName } from "../command-name.ts";
import { requireDataFolder } from "../data-folder.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { type HiddenInput, readHidden } from "../hidden-input.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, withPostern } from "../session.ts";
import { UsageProblem } from "../usage-problem.ts";

/** The value comes from standard input, never from the command line: shells store it and other users can read it. */
export async function setSecret(
  host: Host,
  [connector = "", key = "", ...more]: readonly string[],
  flags: GlobalFlags,
): Promise<ExitCode> {
  if (more.length > 0)
    throw new UsageProblem(
      "The value is read from standard input. One that was typed here is in your shell's history now: change it, and remove it there.",
    );
  const { name, reference } = named(connector, key);
  const place = await placeOf(host, flags);
  const input: HiddenInput = process.stdin;
  const prompt = (): void => host.terminal.aside(`Value of ${name} (not shown): `);
  const bytes = await readHidden(input, maxValueBytes + 2, prompt);
  if (input.isTTY === true) host.terminal.aside("\n");
  const value = secretValue(bytes, name);
  let replaced = false;
  await changeSealed(place, (entries) => {
    replaced = entries.has(name);
    return new Map(entries).set(name, value);
  });
  const recorded = await record(host, flags, { connector, key, act: "set" });
  if (flags.json === true) printJson(host, { connector, key, reference, file: place.file, replaced, recorded });
  else host.terminal.out(`${replaced ? "Replaced" : "Set"} ${name}. Use it in the configuration as ${reference}\n`);
  return exitCodes.ok;
}

export async function removeSecret(
  host: Host,
  [connector = "", key = ""]: readonly string[],
  flags: GlobalFlags,
): Promise<ExitCode> {
  const { name, reference } = named(connector, key);
  const place = await placeOf(host, flags);
  await changeSealed(place, (entries) => {
    if (!entries.has(name))
      throw new RuntimeFault(
        "secret_missing",
        `There is no secret \`${name}\` in \`${place.file}\`; nothing was changed.`,
      );
    return new Map([...entries].filter(([other]) => other !== name));
  });
  const recorded = await record(host, flags, { connector, key, act: "removed" });
  if (flags.json === true) printJson(host, { connector, key, reference, file: place.file, removed: true, recorded });
  else host.terminal.out(`Removed ${name}.\n`);
  return exitCodes.ok;
}

/** Names alone: what there is to refer to and to remove. */
export async function listSecrets(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  const opened = await openSealed(await placeOf(host, flags));
  const names = [...(opened?.entries.keys() ?? [])];
  const secrets = names.map((name) => {
    const [connector = "", key = ""] = name.split("/");
    return { connector, key, reference: `secret://${name}` };
  });
  if (flags.json === true) printJson(host, { secrets });
  else if (names.length === 0)
    host.terminal.out(`None is set. \`${commandName(flags)} secrets set CONNECTOR KEY\` sets one.\n`);
  else host.terminal.out(names.map((name) => `${name}\n`).join(""));
  return exitCodes.ok;
}

/** In the audit log of the Postern that runs, or of this folder's when none does: the name alone. */
async function record(
  host: Host,
  flags: GlobalFlags,
  { connector, key, act }: { readonly connector: string; readonly key: string; readonly act: "set" | "removed" },
): Promise<boolean> {
  try {
    await withPostern({ host, flags, needs: { tools: false } }, async ({ operator }) => {
      await operator.secrets.changed({ connector, key, act });
      return exitCodes.ok;
    });
    return true;
  } catch (error) {
    host.terminal.aside(`It was ${act}, but the audit log could not be told: ${messageOf(error)}\n`);
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

/** @throws RuntimeFault `secrets_not_sealed` when nobody would ever read what is set */
async function placeOf(host: Host, flags: GlobalFlags): Promise<SealedPlace> {
  const { secretSettings, secrets, dataFolder } = await host.inspect(flags);
  requireDataFolder(dataFolder);
  const { backends, file, keyFile } = secretSettings;
  if (secrets === undefined && backends.includes("sealed")) return { file, keyFile, environment: process.env };
  const theirs = secrets === undefined ? backends.map((name) => `\`${name}\``).join(", ") : "a store of your own";
  throw new RuntimeFault(
    "secrets_not_sealed",
    `The configuration takes secrets from ${theirs}, so what is set here would never be read; set it there, or add \`sealed\` to \`secrets.backend\`.`,
  );
}
