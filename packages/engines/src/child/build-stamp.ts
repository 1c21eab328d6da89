import { createHash } from "node:crypto";
import { createReadStream, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * A digest of the engine and of our code around it. A frozen image fits only where the digest is the same.
 *
 * @param program the child's program; a built one contains all its code, a source also needs the files beside it
 */
export async function buildStamp(
  program: string,
  engine: readonly string[],
  texts: readonly string[] = [],
): Promise<string> {
  const digest = createHash("sha256");
  for (const path of [...engine, ...sourcesOf(program)])
    for await (const part of createReadStream(path)) digest.update(part); // streamed: an engine can be large
  for (const text of texts) digest.update(text);
  return digest.digest("hex").slice(0, 16);
}

function sourcesOf(program: string): readonly string[] {
  if (!program.endsWith(".ts")) return [program];
  const folder = dirname(program);
  const names = readdirSync(folder).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  return names.sort().map((name) => join(folder, name));
}
