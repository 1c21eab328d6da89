/** The compile cache of the processes that tests start, which makes their start faster. */
import { join } from "node:path";

export const compileCache: Readonly<Record<"NODE_COMPILE_CACHE", string>> = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/node-compile"),
};
