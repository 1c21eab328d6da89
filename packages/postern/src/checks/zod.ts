import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { z } from "zod";

export type Zod = typeof z;

/** The same copy that `import "zod"` gives; `require("zod")` would load a second one. */
function loadZod(): Zod {
  const require = createRequire(import.meta.url);
  const loaded: { readonly z: Zod } = require(fileURLToPath(import.meta.resolve("zod")));
  return loaded.z;
}

/** Makes a schema when it is first needed: `import "postern"` loads no package, and `createPolicy` is synchronous. */
export function lazySchema<Schema>(make: (zod: Zod) => Schema): () => Schema {
  let made: { readonly schema: Schema } | undefined;
  return () => {
    made ??= { schema: make(loadZod()) };
    return made.schema;
  };
}
