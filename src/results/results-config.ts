/** The `results` section of a configuration file. Only src/config imports this. */
import { z } from "zod";
import { answerBytesRange } from "./raw-result.ts";

export interface ResultsFile {
  readonly retention_days?: number | undefined;
  readonly max_bytes?: number | undefined;
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
  max_bytes: z
    .int()
    .min(answerBytesRange.from)
    .max(answerBytesRange.to)
    .optional()
    .describe(
      "What one answer of a tool may have in bytes, as JSON text, media as base64; 33554432 (32 MiB) when nothing is said. What is larger is not taken: the call ends as `result_unavailable`.",
    ),
});

/** The section as a runtime's option. */
export function resultSettingsFrom({ retention_days, max_bytes }: ResultsFile): ResultSettings {
  return {
    ...(retention_days !== undefined && { retentionDays: retention_days }),
    ...(max_bytes !== undefined && { maxBytes: max_bytes }),
  };
}

export interface ResultSettings {
  readonly retentionDays?: number;
  readonly maxBytes?: number;
}
