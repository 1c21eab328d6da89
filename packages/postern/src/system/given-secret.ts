/** Keys and tokens that the environment gives, as containers do: `NAME`, or the file that `NAME_FILE` names. */
import { readFile, stat } from "node:fs/promises";
import { RuntimeFault } from "@postern/core";
import { codeOf } from "@postern/core/system";

export type SecretEnvironment = Readonly<Record<string, string | undefined>>;

export interface GivenSecret {
  readonly text: string;
  /** Where it was found, for a message. */
  readonly from: string;
}

/** A larger file is no key. */
const mostBytes = 64 * 1024;

/**
 * Returns undefined if neither variable is set. The file may be a link, read-only and readable by others, because mounts of
 * secrets are: who mounts it decides who reads it. It may not be one that others can change.
 *
 * @throws RuntimeFault `config_invalid`, naming the variable and the path
 */
export async function givenSecret(
  name: string,
  environment: SecretEnvironment = process.env,
): Promise<GivenSecret | undefined> {
  const value = environment[name]?.trim();
  const path = environment[`${name}_FILE`];
  if (path === undefined || path === "")
    return value === undefined || value === "" ? undefined : { text: value, from: `\`${name}\`` };
  if (value !== undefined && value !== "") throw refused(`\`${name}\` and \`${name}_FILE\` are both set; keep one.`);
  return { text: await secretIn(path, `${name}_FILE`), from: `\`${path}\` (\`${name}_FILE\`)` };
}

/**
 * @param named the variable or flag that names the file
 * @throws RuntimeFault `config_invalid`
 */
export async function secretIn(path: string, named: string): Promise<string> {
  const problem = (why: string, cause?: unknown): RuntimeFault =>
    refused(`\`${named}\` names \`${path}\`, which ${why}.`, cause);
  try {
    const found = await stat(path);
    if (!found.isFile() || found.size > mostBytes) throw problem("is no file with a key or token");
    if ((found.mode & 0o022) !== 0) throw problem("others can change; take that right from them");
    const text = (await readFile(path, "utf8")).trim();
    if (text === "") throw problem("is empty");
    return text;
  } catch (error) {
    if (error instanceof RuntimeFault) throw error;
    throw problem(`cannot be read (${codeOf(error)}); correct the path, or give this user the right to read it`, error);
  }
}

function refused(message: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault("config_invalid", message, { cause });
}
