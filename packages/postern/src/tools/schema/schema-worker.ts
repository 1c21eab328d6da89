/**
 * The worker of schema-thread.ts. It checks one value at a time, has no environment variables and keeps no state that
 * matters, so it may be killed at any moment.
 */
import { parentPort } from "node:worker_threads";
import { type JsonObject, messageOf } from "@postern/core";
import type { Issue } from "../tool.ts";
import type { VettedSchema } from "./preflight.ts";
import { type CompiledCheck, compileSchema } from "./schema-check.ts";

/** `schema` comes with the first value of each schema. Without a value the schema is compiled, and not kept. */
export interface SchemaJob {
  readonly digest: string;
  readonly schema?: Pick<VettedSchema, "schema" | "dialect" | "digest">;
  readonly value?: JsonObject;
}

/** `unusable`: why the schema cannot be used, whatever the value is. */
export type SchemaResult = { readonly issues: readonly Issue[] } | { readonly unusable: string };
/** `compiled`: the schema of the value is compiled, and its check begins. */
export type SchemaAnswer = { readonly ready: true } | { readonly compiled: true } | SchemaResult;

const compiled = new Map<string, Promise<CompiledCheck>>();

async function check({ digest, schema, value }: SchemaJob, begins: () => void): Promise<SchemaResult> {
  try {
    if (value === undefined) {
      if (schema !== undefined) await compileSchema(schema);
      return { issues: [] };
    }
    if (schema !== undefined) compiled.set(digest, compileSchema(schema));
    const known = await compiled.get(digest);
    if (schema !== undefined) begins();
    return known === undefined ? { unusable: "the checker has lost it" } : { issues: known.issues(value) };
  } catch (error) {
    return { unusable: messageOf(error) };
  }
}

const port = parentPort;
if (port !== null) {
  port.on("message", (job: SchemaJob) => {
    const begins = (): void => port.postMessage({ compiled: true } satisfies SchemaAnswer);
    void check(job, begins).then((checked) => port.postMessage(checked satisfies SchemaAnswer));
  });
  // The first compilation is slow, so it happens before the first call.
  await compileSchema({ schema: { type: "object" }, dialect: "2020-12", digest: "warm" });
  port.postMessage({ ready: true } satisfies SchemaAnswer);
}
