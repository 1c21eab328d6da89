/** The `policy.cedar` section of a configuration file and what it becomes. */
import { z } from "zod";
import { messageOf } from "../../calls/fault.ts";
import { invalid } from "../checking.ts";
import type { CedarOptions } from "./cedar.ts";
import type { CedarArgument, CedarKind } from "./cedar-facts.ts";

export interface CedarFile {
  readonly policies: string;
  readonly schema?: string | undefined;
  readonly arguments?:
    | Readonly<
        Record<
          string,
          { readonly path: string; readonly kind: CedarKind; readonly otherwise?: "deny" | "tell" | undefined }
        >
      >
    | undefined;
}

const file = z.string().min(1);

export const cedarSection: z.ZodType<CedarFile> = z.strictObject({
  policies: file.describe("file of Cedar policies, relative to this one; they may only add denials and questions"),
  schema: file.optional().describe("file of a Cedar schema; left out: the one that describes what crosses"),
  arguments: z
    .record(
      z.string(),
      z.strictObject({
        path: z.string(),
        kind: z.enum(["string", "boolean", "long", "floor", "ceil", "strings", "present"]),
        otherwise: z.enum(["deny", "tell"]).optional(),
      }),
    )
    .optional()
    .describe("arguments that policies may look at, by the name they use: context.args.NAME"),
});

/**
 * @param textOf reads a file that is named in the section
 * @throws RuntimeFault `policy_invalid`, when a file cannot be read
 */
export async function cedarOptionsFrom(
  { policies, schema, arguments: args = {} }: CedarFile,
  textOf: (path: string) => Promise<string>,
): Promise<CedarOptions> {
  const read = (path: string): Promise<string> =>
    textOf(path).catch((error: unknown) => {
      throw invalid(`The Cedar file \`${path}\` cannot be read: ${messageOf(error)}.`);
    });
  const chosen = Object.entries(args).map(([name, { path, kind, otherwise }]): readonly [string, CedarArgument] => [
    name,
    { path, kind, ...(otherwise !== undefined && { otherwise }) },
  ]);
  return {
    policies: await read(policies),
    ...(schema !== undefined && { schema: await read(schema) }),
    arguments: Object.fromEntries(chosen),
  };
}
