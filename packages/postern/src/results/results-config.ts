/** The `results` section of a configuration file. Only packages/postern/src/config imports this. */
import { z } from "zod";
import { answerBytesRange } from "./raw-result.ts";

export const resultsSchema = z.strictObject({
  folder: z
    .string()
    .min(1)
    .exactOptional()
    .describe(
      "Folder of artifacts that several gateways on one PostgreSQL store share, relative to this file. Default: `artifacts` in the data folder.",
    ),
  retention_days: z
    .int()
    .min(0)
    .max(3650)
    .exactOptional()
    .describe(
      "How long an artifact stays when no call can be answered with it any more. Default: 30. 0: until its session ends.",
    ),
  max_bytes: z
    .int()
    .min(answerBytesRange.from)
    .max(answerBytesRange.to)
    .exactOptional()
    .describe(
      "What one structured answer of a tool, and one message of an MCP server, may have in bytes as JSON text; 33554432 (32 MiB) if left out. What is larger is not taken: the call ends as `result_unavailable`.",
    ),
  max_artifact_bytes: z
    .int()
    .min(answerBytesRange.from)
    .exactOptional()
    .describe(
      "What one artifact may have in bytes that a tool of your own answers with as text, bytes or a stream; 2147483648 (2 GiB) if left out.",
    ),
});
