import type { z } from "zod";
import { type JsonSchemaKeys, schemaProblems } from "../checks/schema-problems.ts";
import { fixForOtherClients } from "../mcp/client/server-config-schema.ts";
import { ConfigProblems, type Locate } from "./problem.ts";

const renamedKeys: ReadonlyMap<string, string> = new Map([["chains.drivers", "chains.engine_settings"]]);

/** @throws ConfigProblems with every mistake */
export function parseChecked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  {
    keys,
    locate,
    isCode = false,
  }: { readonly keys: () => JsonSchemaKeys; readonly locate: Locate; readonly isCode?: boolean },
): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const language = isCode ? "code" : "file";
  const problems = schemaProblems(parsed.error.issues, {
    value,
    schema: keys(),
    language,
    renamedKeys,
    fixFor: fixForOtherClients,
  });
  throw new ConfigProblems(problems.map(({ path, part, ...rest }) => ({ ...locate(path, part), ...rest })));
}
