import { fileURLToPath } from "node:url";
import { buildConsole } from "../../src/server/http/console-build.ts";

/** What is tested is what the sources say. */
export async function setup(): Promise<void> {
  const problem = await buildConsole(fileURLToPath(new URL("../../dist/console", import.meta.url)));
  if (problem !== undefined) throw new Error(problem);
}
