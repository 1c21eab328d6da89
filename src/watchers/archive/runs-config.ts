/** The `runs` section of a configuration file. Only src/config imports this: the archive itself knows no zod. */
import { z } from "zod";

export interface RunsFile {
  readonly enabled?: boolean | undefined;
  readonly folder?: string | undefined;
}

export const runsSchema: z.ZodType<RunsFile> = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .describe("Keep a folder a run: what its agent did, for people to read. True when nothing is said."),
  folder: z
    .string()
    .min(1)
    .optional()
    .describe("Where, relative to this file; `runs` in the data folder when nothing is said."),
});
