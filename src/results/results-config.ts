/** The `results` section of a configuration file. Only src/config imports this. */
import { z } from "zod";

export interface ResultsFile {
  readonly retention_days?: number | undefined;
}

export const resultsSchema: z.ZodType<ResultsFile> = z.strictObject({
  retention_days: z
    .int()
    .min(0)
    .max(3650)
    .optional()
    .describe(
      "How long an artifact stays when nobody can be answered with it any more; 30 when nothing is said. 0: until its session ends.",
    ),
});
