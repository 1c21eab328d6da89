/** Where commands and lives that tests start a hundred times find the sources compiled: half of their start is that. */
import { join } from "node:path";

export const compileCache: Readonly<Record<"NODE_COMPILE_CACHE", string>> = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/node-compile"),
};
