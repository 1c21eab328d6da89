import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { whyUnreadable } from "../../system/error-code.ts";
import type { NamedText } from "../policy-reader.ts";
import { UsageProblem } from "./usage-problem.ts";

/** Tables of expectations: the named ones, else all `*.policy-tests.yaml` beside the configuration. */
export async function tablesFor({ name }: NamedText, named: readonly string[] = []): Promise<readonly NamedText[]> {
  const folder = dirname(resolve(name));
  const beside = async (): Promise<readonly string[]> =>
    (await readdir(folder))
      .filter((file) => /\.policy-tests\.(ya?ml|json)$/.test(file))
      .sort()
      .map((file) => join(folder, file));
  const files = named.length > 0 ? named.map((file) => resolve(file)) : await beside();
  return Promise.all(files.map(async (file) => ({ name: shown(file), text: await textOf(file) })));
}

function shown(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith("..") ? basename(file) : path;
}

async function textOf(file: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw new UsageProblem(`\`${shown(file)}\` ${whyUnreadable(error)}.`);
  }
}
