/** The `results` section of a configuration file. Only src/config imports this. */
import { z } from "zod";
import { answerBytesRange } from "./raw-result.ts";

export interface ResultsFile {
  readonly retention_days?: number | undefined;
  readonly max_bytes?: number | undefined;
  readonly max_artifact_bytes?: number | undefined;
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
      "What one structured answer of a tool, and one message of an MCP server, may have in bytes as JSON text; 33554432 (32 MiB) if left out. What is larger is not taken: the call ends as `result_unavailable`.",
    ),
  max_artifact_bytes: z
    .int()
    .min(answerBytesRange.from)
    .optional()
    .describe(
      "What one artifact may have in bytes that a tool of your own answers with as text, bytes or a stream; 2147483648 (2 GiB) if left out.",
    ),
});

/** The section as a runtime's option. */
export function resultSettingsFrom({ retention_days, max_bytes, max_artifact_bytes }: ResultsFile): ResultSettings {
  return {
    ...(retention_days !== undefined && { retentionDays: retention_days }),
    ...(max_bytes !== undefined && { maxBytes: max_bytes }),
    ...(max_artifact_bytes !== undefined && { maxArtifactBytes: max_artifact_bytes }),
  };
}

export interface ResultSettings {
  readonly retentionDays?: number;
  readonly maxBytes?: number;
  readonly maxArtifactBytes?: number;
}
