import { existsSync, statSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { RuntimeFault } from "../core/fault.ts";
import { whyUnreadable } from "../core/system/error-code.ts";
import type { ConfigProblem } from "./problem.ts";

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

/** Data only: code is never run because it happens to lie in a folder. */
const foundByItself: readonly string[] = ["postern.yaml", "postern.yml", "postern.json"];

/** The named file, or the one data file of this folder; undefined when there is none. */
export function findFile(
  named: string | undefined,
  folder: string,
): ConfigLocation | undefined | { readonly problem: ConfigProblem } {
  if (named !== undefined) return namedFile(resolve(folder, named), named);
  const here = foundByItself.filter((name) => existsSync(join(folder, name)));
  if (here.length > 1) {
    const problem = {
      source: folder,
      key: "",
      message: `There are several configurations: ${here.join(", ")}.`,
      fix: "Keep one, or name it with `--config`.",
    };
    return { problem };
  }
  const [only] = here;
  return only === undefined ? undefined : namedFile(join(folder, only), only);
}

/** What stands there and would have to be named, because it is code. */
export function codeNearby(folder: string): string | undefined {
  return ["postern.config.ts", "postern.config.mts", "postern.config.js", "postern.config.mjs"].find((name) =>
    existsSync(join(folder, name)),
  );
}

function namedFile(file: string, shown: string): ConfigLocation | { readonly problem: ConfigProblem } {
  const language = languages.get(extname(file).toLowerCase());
  const message = noFile(file);
  if (message !== undefined)
    return {
      problem: { source: shown, key: "", message, fix: "Name the configuration file: `--config postern.yaml`." },
    };
  if (language !== undefined) return { file, language };
  return {
    problem: {
      source: shown,
      key: "",
      message: "Its name does not say what it is.",
      fix: "Name it .yaml, .json or .ts.",
    },
  };
}

function noFile(file: string): string | undefined {
  try {
    const kind = statSync(file, { throwIfNoEntry: false });
    if (kind?.isFile() === true) return undefined;
    return kind === undefined ? "There is no such file." : "It is not a file.";
  } catch (error) {
    return `It ${whyUnreadable(error)}.`;
  }
}

/** For whoever needs one: what to do about it. */
export function noConfiguration(folder: string): RuntimeFault {
  const code = codeNearby(folder);
  const fix =
    code === undefined
      ? "`postern init` writes a first one here; or name one: `--config FILE`."
      : `\`${code}\` is code and is run only when it is named: \`--config ${code}\`.`;
  return new RuntimeFault("config_missing", `There is no configuration in ${folder}. ${fix}`);
}
