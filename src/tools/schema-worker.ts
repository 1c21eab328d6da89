/**
 * The other end of schema-thread.ts: checks one value at a time, and may be killed at any moment.
 * It is lent no environment, and has nothing anybody would miss.
 */
import { parentPort } from "node:worker_threads";
import { messageOf } from "../calls/fault.ts";
import type { JsonObject } from "../calls/json.ts";
import type { VettedSchema } from "./preflight.ts";
import { type CompiledCheck, compileSchema } from "./schema-check.ts";
import type { Issue } from "./tool.ts";

/** `schema` comes with the first value of each schema. */
export interface SchemaJob {
  readonly digest: string;
  readonly schema?: Pick<VettedSchema, "schema" | "dialect" | "digest">;
  readonly value: JsonObject;
}

export type SchemaAnswer = { readonly ready: true } | { readonly issues: readonly Issue[] };

const compiled = new Map<string, Promise<CompiledCheck>>();

async function check({ digest, schema, value }: SchemaJob): Promise<readonly Issue[]> {
  if (schema !== undefined) compiled.set(digest, compileSchema(schema));
  try {
    return (
      (await compiled.get(digest))?.issues(value) ?? [{ path: [], message: "cannot be checked: the schema is gone" }]
    );
  } catch (error) {
    return [{ path: [], message: `cannot be checked: ${messageOf(error)}` }];
  }
}

const port = parentPort;
if (port !== null) {
  port.on("message", (job: SchemaJob) => {
    void check(job).then((issues) => port.postMessage({ issues } satisfies SchemaAnswer));
  });
  // The first schema of all pays for the dialect's own: not on a caller's time.
  await compileSchema({ schema: { type: "object" }, dialect: "2020-12", digest: "warm" });
  port.postMessage({ ready: true } satisfies SchemaAnswer);
}
