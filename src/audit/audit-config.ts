/** The `audit` section of a configuration file. Only src/config imports this. */
import { z } from "zod";
import type { RecheckSettings } from "./recheck.ts";

export interface AuditFile {
  readonly recheck?:
    | { readonly enabled?: boolean | undefined; readonly entries_per_second?: number | undefined }
    | undefined;
}

export const auditSchema: z.ZodType<AuditFile> = z.strictObject({
  recheck: z
    .strictObject({
      enabled: z.boolean().optional().describe("On when nothing is said."),
      entries_per_second: z.int().min(1).max(10_000).optional().describe("How fast; 500 when nothing is said."),
    })
    .optional()
    .describe("Verify the log in the background, again and again, while Postern runs."),
});

export function auditSettingsFrom({ recheck = {} }: AuditFile): { readonly recheck: RecheckSettings } {
  return { recheck: { enabled: recheck.enabled, entriesPerSecond: recheck.entries_per_second } };
}
