/** The `audit` section of a configuration file. Only packages/postern/src/config imports this. */
import { resolve } from "node:path";
import type { CamelCased } from "@postern/core";
import { z } from "zod";
import type { RecheckSettings } from "./recheck.ts";
import type { Witness, WitnessSettings } from "./witness.ts";

export const auditSchema = z.strictObject({
  recheck: z
    .strictObject({
      enabled: z.boolean().exactOptional().describe("Default: true if the store is a file."),
      entries_per_second: z.int().min(1).max(10_000).exactOptional().describe("How fast. Default: 500."),
    })
    .exactOptional()
    .describe("Verify the log in the background, again and again, while Postern runs."),
  witness: z
    .union([
      z.strictObject({ file: z.string().min(1) }),
      z.strictObject({ url: z.url({ protocol: /^https?$/ }), token: z.string().min(1).exactOptional() }),
    ])
    .exactOptional()
    .describe("Where heads of the log are stored, out of reach of someone who can write the data folder."),
});

export interface AuditSettings {
  readonly recheck?: RecheckSettings;
  /** A witness of your own has the two methods of `Witness`. */
  readonly witness?: WitnessSettings | Witness | undefined;
}

type AuditSection = CamelCased<z.output<typeof auditSchema>>;

/** @param base the folder that paths are relative to */
export function auditSettingsFrom({ recheck = {}, witness }: AuditSection, base: string): AuditSettings {
  return {
    recheck,
    witness: witness !== undefined && "file" in witness ? { file: resolve(base, witness.file) } : witness,
  };
}
