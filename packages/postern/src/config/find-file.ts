import { existsSync, statSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { RuntimeFault } from "@postern/core";
import { whyUnreadable } from "@postern/core/system";
import { ConfigProblems } from "./problem.ts";

export type ConfigLanguage = "yaml" | "json" | "typescript";
export interface ConfigLocation {
  /** Absolute. */
  readonly file: string;
  readonly language: ConfigLanguage;
}

const languages: ReadonlyMap<string, ConfigLanguage> = new Map([
  [".yaml", "yaml"],
  [".yml", "yaml"],
  [".json", "json"],
  [".ts", "typescript"],
  [".mts", "typescript"],
  [".js", "typescript"],
  [".mjs", "typescript"],
]);

/** Only data: Postern never runs code because a folder holds it. */
const dataFiles: readonly string[] = ["postern.yaml", "postern.yml", "postern.json"];
const codeFiles: readonly string[] = [".ts", ".mts", ".js", ".mjs"].map((ending) => `postern.config${ending}`);

/**
 * The named file, or the one data file of this folder. Returns undefined when the folder has none.
 *
 * @throws ConfigProblems
 */
export function findFile(named: string | undefined, folder: string): ConfigLocation | undefined {
  if (named !== undefined) return locationOf(resolve(folder, named), named);
  const [only, ...others] = dataFiles.filter((name) => existsSync(join(folder, name)));
  if (only === undefined) return undefined;
  if (others.length === 0) return locationOf(join(folder, only), only);
  throw ConfigProblems.of({
    source: folder,
    message: `There are several configurations: ${[only, ...others].join(", ")}.`,
    fix: "Keep one, or name it with `--config`.",
  });
}

/** A configuration in code, which an operator must name before Postern runs it. */
function codeNearby(folder: string): string | undefined {
  return codeFiles.find((name) => existsSync(join(folder, name)));
}

function locationOf(file: string, source: string): ConfigLocation {
  const message = whyNoFile(file);
  if (message !== undefined)
    throw ConfigProblems.of({ source, message, fix: "Name the configuration file: `--config postern.yaml`." });
  const language = languages.get(extname(file).toLowerCase());
  if (language !== undefined) return { file, language };
  throw ConfigProblems.of({
    source,
    message: "Its name does not say what it is.",
    fix: "Name it .yaml, .json or .ts.",
  });
}

function whyNoFile(file: string): string | undefined {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined) return "There is no such file.";
    return found.isFile() ? undefined : "It is not a file.";
  } catch (error) {
    return `It ${whyUnreadable(error)}.`;
  }
}

/** The fault of a command that needs a configuration. */
export function noConfiguration(folder: string): RuntimeFault {
  const code = codeNearby(folder);
  const fix =
    code === undefined
      ? "`postern init` writes a first one here; or name one: `--config FILE`."
      : `\`${code}\` is code and is run only when it is named: \`--config ${code}\`.`;
  return new RuntimeFault("config_invalid", `There is no configuration in ${folder}. ${fix}`);
}
