/** The configuration as it is for this process: its folder, its environment and its flags. */
import { readdir } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { dataFolderIn } from "../config/data-folder.ts";
import type { Settings } from "../config/settings.ts";
import type { NamedText } from "../server/policy-reader.ts";
import type { StartFlags } from "./host.ts";
import { openNamed, readNamed } from "./named-files.ts";

export async function settingsFor(flags: StartFlags): Promise<Settings> {
  const { loadConfig } = await import("../config/load.ts");
  return loadConfig({ flags, environment: process.env, folder: process.cwd() });
}

export async function dataFolderFor(flags: StartFlags): Promise<string> {
  const folder = await dataFolderIn({ flags, environment: process.env, folder: process.cwd() });
  return folder ?? (await settingsFor(flags)).dataFolder;
}

/** Returns undefined for port 0: no command could find a Postern there. */
export function wantedPort({ port = process.env["POSTERN_PORT"] ?? "" }: StartFlags): number | undefined {
  const wanted = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  return wanted === 0 ? undefined : wanted;
}

/** The text of the configuration as it is on the disk now: the one that is used here, or another file. */
export async function configurationText(flags: StartFlags, named?: string): Promise<NamedText> {
  const [text, { noConfiguration }] = await Promise.all([
    import("../config/policy-text.ts"),
    import("../config/find-file.ts"),
  ]);
  const file = named === undefined ? (await settingsFor(flags)).file : resolve(named);
  if (file === undefined) throw noConfiguration(process.cwd());
  if (named !== undefined) await (await openNamed(named)).close();
  return text.configurationText(file, process.cwd());
}

/** Tables of expectations: the named files, else all `*.policy-tests.yaml` beside the configuration. */
export async function tablesFor({ name }: NamedText, named: readonly string[] = []): Promise<readonly NamedText[]> {
  const folder = dirname(resolve(name));
  const besideIt = async (): Promise<readonly string[]> =>
    (await readdir(folder)).filter((file) => /\.policy-tests\.(ya?ml|json)$/.test(file)).sort();
  const files = named.length > 0 ? named : (await besideIt()).map((file) => join(folder, file));
  return Promise.all(
    files.map(async (file) => {
      const path = relative(process.cwd(), resolve(file));
      return { name: path.startsWith("..") ? basename(file) : path, text: await readNamed(file) };
    }),
  );
}
