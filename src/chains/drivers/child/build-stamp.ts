import { createHash } from "node:crypto";
import { createReadStream, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Whether an image that was made there fits here: a digest of all that has its state in one, and of what we have around it.
 *
 * @param program what a process runs; of a source also what lies beside it, where it is built it holds all it needs
 */
export async function buildStamp(
  program: string,
  engine: readonly string[],
  texts: readonly string[] = [],
): Promise<string> {
  const digest = createHash("sha256");
  for (const path of [...engine, ...sourcesOf(program)])
    for await (const part of createReadStream(path)) digest.update(part); // an interpreter has twenty megabytes
  for (const text of texts) digest.update(text);
  return digest.digest("hex").slice(0, 16);
}

function sourcesOf(program: string): readonly string[] {
  if (!program.endsWith(".ts")) return [program];
  const folder = dirname(program);
  const names = readdirSync(folder).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  return names.sort().map((name) => join(folder, name));
}
