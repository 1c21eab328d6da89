import { readdir } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { NamedText } from "../server/policy-reader.ts";
import { readNamed } from "./named-files.ts";

/** Tables of expectations: the named ones, else all `*.policy-tests.yaml` beside the configuration. */
export async function tablesFor({ name }: NamedText, named: readonly string[] = []): Promise<readonly NamedText[]> {
  const folder = dirname(resolve(name));
  const beside = async (): Promise<readonly string[]> =>
    (await readdir(folder))
      .filter((file) => /\.policy-tests\.(ya?ml|json)$/.test(file))
      .sort()
      .map((file) => join(folder, file));
  const files = named.length > 0 ? named : await beside();
  return Promise.all(files.map(async (file) => ({ name: shown(resolve(file)), text: await readNamed(file) })));
}

function shown(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith("..") ? basename(file) : path;
}
