import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isRecord } from "@postern/core";
import { findFile } from "./find-file.ts";
import type { LoadOptions } from "./load.ts";
import { loadOverrides } from "./overrides.ts";

const usual = ".postern";

/**
 * The data folder without the rest of the configuration: a client needs no more of it. Returns undefined when only
 * `loadConfig` can tell. If the folder is not there, a mistake in the configuration is the better answer.
 *
 * @throws ConfigProblems
 */
export async function dataFolderIn({ flags, environment, folder }: LoadOptions): Promise<string | undefined> {
  const { config, data } = loadOverrides({ flags, environment });
  if (data !== undefined) return resolve(folder, data);
  const found = findFile(config, folder);
  if (found === undefined) return resolve(folder, usual);
  if (found.language === "typescript") return undefined;
  const { readSource } = await import("./source.ts");
  const { value } = readSource(found.file, await readFile(found.file, "utf8"), found.language);
  const named = isRecord(value) ? (value["data"] ?? usual) : undefined;
  if (typeof named !== "string" || named === "") return undefined;
  const path = resolve(dirname(found.file), named);
  return existsSync(path) ? path : undefined;
}
