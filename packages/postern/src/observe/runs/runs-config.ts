/** The `runs` section of a configuration file. Only packages/postern/src/config imports this: the archive itself knows no zod. */
import { z } from "zod";

export const runsSchema = z.strictObject({
  enabled: z
    .boolean()
    .exactOptional()
    .describe("Keep a folder a run: what its agent did, for people to read. True by default."),
  folder: z
    .string()
    .min(1)
    .exactOptional()
    .describe("Where, relative to this file. Default: `runs` in the data folder."),
});
