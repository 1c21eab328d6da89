/** The options for looking after the audit log, and the `audit` section of a configuration file. */
import { resolve } from "node:path";
import type { CamelCased } from "@postern/core";
import { z } from "zod";
import { fileShape, objectIn, optionsIn, type SchemasOf } from "../checks/zod.ts";
import { mostPerSecond, type RecheckPace, type RecheckSettings } from "./recheck.ts";
import type { Witness, WitnessSettings } from "./witness.ts";

export interface AuditSettings {
  readonly recheck?: RecheckSettings;
  /** A witness of your own has the two methods of `Witness`. */
  readonly witness?: WitnessSettings | Witness | undefined;
}

const recheckOptions = z.strictObject({
  enabled: z.boolean().optional().describe("Default: true if the store is a file."),
  entriesPerSecond: z.int().min(1).max(mostPerSecond).optional().describe("How fast. Default: 500."),
} satisfies SchemasOf<RecheckSettings>);

export const auditOptions: z.ZodType<unknown, AuditSettings> = optionsIn<AuditSettings>(z, {
  recheck: recheckOptions.optional(),
  witness: objectIn<WitnessSettings | Witness>(z).optional(),
});

export const auditSchema = z.strictObject({
  recheck: z
    .strictObject(fileShape(recheckOptions.shape))
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

export function paceOf(settings: RecheckSettings, isFile: boolean): RecheckPace | undefined {
  const { enabled = isFile, entriesPerSecond = 500 } = settings;
  return enabled ? { entriesPerSecond } : undefined;
}

type AuditSection = CamelCased<z.output<typeof auditSchema>>;

/** @param base the folder that paths are relative to */
export function auditSettingsFrom({ recheck = {}, witness }: AuditSection, base: string): AuditSettings {
  return {
    recheck,
    witness: witness !== undefined && "file" in witness ? { file: resolve(base, witness.file) } : witness,
  };
}
