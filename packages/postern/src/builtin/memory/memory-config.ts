/** The `memory` section of a configuration file. Only packages/postern/src/config imports this: the tools themselves know no zod. */

import type { CamelCased } from "@postern/core";
import { z } from "zod";
import type { WriteMode } from "./memory.ts";

/** The section with its defaults. */
export interface MemorySettings {
  /** Undefined if there is no provider. Agents can still write candidates. */
  readonly provider: "embedded" | { readonly server: string } | undefined;
  readonly writeMode: WriteMode;
  readonly scopes: readonly string[] | undefined;
}

export const memorySchema = z.strictObject({
  enabled: z.boolean().exactOptional().describe("Offer recall_memory and write_memory. Default: false."),
  provider: z
    .union([
      z.enum(["embedded", "external"]),
      z.strictObject({ server: z.string().min(1).describe("one of `servers`") }),
    ])
    .exactOptional()
    .describe(
      "Who keeps memories: a file in the data folder (embedded, the default), or an MCP server of yours (external: the one named `memory`).",
    ),
  write_mode: z
    .enum(["disabled", "candidate", "external"])
    .exactOptional()
    .describe("candidate (default): what agents want remembered waits for a person; external: it is written at once."),
  scopes: z
    .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/))
    .min(1)
    .max(64)
    .exactOptional()
    .describe("Whose memories there are: agent (the default) and user are private to each, any other name is shared."),
});

type MemorySection = CamelCased<z.output<typeof memorySchema>>;

/** The server that `provider: external` means. */
const externalServer = "memory";

/** The problem if a named server is not configured. `path` is below `memory`. */
export function memoryProblem(
  { provider, writeMode }: MemorySection,
  servers: readonly string[],
): { readonly path: readonly string[]; readonly message: string; readonly fix: string } | undefined {
  if (typeof provider === "object" && !servers.includes(provider.server))
    return {
      path: ["provider", "server"],
      message: `\`${JSON.stringify(provider.server)}\` is not one of \`servers\`.`,
      fix: "Name one that is there, or write `provider: embedded`.",
    };
  if (provider === "external" && writeMode === "external" && !servers.includes(externalServer))
    return {
      path: ["provider"],
      message: `\`external\` writes to the MCP server \`${externalServer}\`, which is not one of \`servers\`.`,
      fix: "Add it there, or name the one that is: `provider: { server: NAME }`.",
    };
  return undefined;
}

/**
 * Returns undefined if memory is off.
 *
 * @param servers the names of the configured MCP servers
 */
export function memorySettingsFrom(
  { enabled = false, provider = "embedded", writeMode = "candidate", scopes }: MemorySection,
  servers: readonly string[],
): MemorySettings | undefined {
  if (!enabled) return undefined;
  const external = servers.includes(externalServer) ? { server: externalServer } : undefined;
  return {
    provider: provider === "external" ? external : provider,
    writeMode,
    scopes,
  };
}
