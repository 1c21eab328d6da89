/** The `audit` section of a configuration file. Only src/config imports this. */
import { resolve } from "node:path";
import { z } from "zod";
import type { RecheckSettings } from "./recheck.ts";
import type { Witness, WitnessSettings } from "./witness.ts";

export interface AuditFile {
  readonly recheck?:
    | { readonly enabled?: boolean | undefined; readonly entries_per_second?: number | undefined }
    | undefined;
  readonly witness?: WitnessSettings | undefined;
}

export const auditSchema: z.ZodType<AuditFile> = z.strictObject({
  recheck: z
    .strictObject({
      enabled: z.boolean().optional().describe("On when nothing is said."),
      entries_per_second: z.int().min(1).max(10_000).optional().describe("How fast; 500 when nothing is said."),
    })
    .optional()
    .describe("Verify the log in the background, again and again, while Postern runs."),
  witness: z
    .union([
      z.strictObject({ file: z.string().min(1) }),
      z.strictObject({ url: z.url({ protocol: /^https?$/ }), token: z.string().min(1).optional() }),
    ])
    .optional()
    .describe("Where heads of the log are kept beyond the reach of whoever can write the data folder."),
});

export interface AuditSettings {
  readonly recheck?: RecheckSettings;
  /** A place of your own has the two verbs of a Witness. */
  readonly witness?: WitnessSettings | Witness | undefined;
}

/** @param base the folder that paths are relative to */
export function auditSettingsFrom({ recheck = {}, witness }: AuditFile, base: string): AuditSettings {
  return {
    recheck: { enabled: recheck.enabled, entriesPerSecond: recheck.entries_per_second },
    witness: witness !== undefined && "file" in witness ? { file: resolve(base, witness.file) } : witness,
  };
}
