/** The `memory` section of a configuration file. Only src/config imports this: the tools themselves know no zod. */
import { z } from "zod";
import type { WriteMode } from "./memory.ts";

export interface MemoryFile {
  readonly enabled?: boolean | undefined;
  readonly provider?: "embedded" | { readonly server: string } | undefined;
  readonly write_mode?: WriteMode | undefined;
  readonly scopes?: readonly string[] | undefined;
}

/** The section with its defaults. */
export interface MemorySettings {
  readonly provider: "embedded" | { readonly server: string };
  readonly writeMode: WriteMode;
  readonly scopes: readonly string[] | undefined;
}

export const memorySchema: z.ZodType<MemoryFile> = z.strictObject({
  enabled: z.boolean().optional().describe("Offer recall_memory and write_memory; false when nothing is said."),
  provider: z
    .union([z.literal("embedded"), z.strictObject({ server: z.string().min(1).describe("one of `servers`") })])
    .optional()
    .describe("Who keeps memories: a file in the data folder (embedded, the default), or an MCP server of yours."),
  write_mode: z
    .enum(["disabled", "candidate", "external"])
    .optional()
    .describe("candidate (default): what agents want remembered waits for a person; external: it is written at once."),
  scopes: z
    .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/))
    .min(1)
    .max(64)
    .optional()
    .describe("Whose memories there are: agent (the default) and user are private to each, any other name is shared."),
});

/** Undefined: memory is off. */
export function memorySettingsFrom({
  enabled = false,
  provider,
  write_mode,
  scopes,
}: MemoryFile): MemorySettings | undefined {
  if (!enabled) return undefined;
  return { provider: provider ?? "embedded", writeMode: write_mode ?? "candidate", scopes };
}
