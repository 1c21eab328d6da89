import { writeFileSync } from "node:fs";
import { jsonSchema } from "../packages/postern/src/config/config-schema.ts";

/** Publishes the configuration's schema for editors; `config-schema.test.ts` fails when it was forgotten. */
writeFileSync(
  new URL("../packages/postern/schema/postern.schema.json", import.meta.url),
  `${JSON.stringify(jsonSchema(), undefined, 2)}\n`,
);
