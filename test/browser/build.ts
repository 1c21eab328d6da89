import { fileURLToPath } from "node:url";
import { buildConsole } from "../../packages/postern/src/server/http/console-build.ts";

/** The tests run on a fresh build. */
export async function setup(): Promise<void> {
  const problem = await buildConsole(fileURLToPath(new URL("../../packages/postern/dist/console", import.meta.url)));
  if (problem !== undefined) throw new Error(problem);
}
