/** The keys of provider-defined tools in the `tools` section. The tools themselves are in the agents package. */
import { resolve } from "node:path";
import type { CamelCased } from "@postern/core";
import { z } from "zod";

type ProvidedSection = CamelCased<z.output<z.ZodObject<typeof providedShape>>>;
type PatchSection = NonNullable<ProvidedSection["applyPatch"]>;

/** Undefined if the tool is off. */
export interface ProvidedSettings {
  readonly applyPatch:
    | { readonly delete: PatchSection["delete"] | undefined; readonly declare: PatchSection["declare"] | undefined }
    | undefined;
  readonly textEditor: boolean;
  readonly memory: boolean;
  readonly shell: Omit<NonNullable<ProvidedSection["shell"]>, "enabled"> | undefined;
}

const enabled = z.boolean().exactOptional().describe("Offer the tool. Default: false.");
const megabyte = 1024 * 1024;

/** One key a tool. */
export const providedShape = {
  apply_patch: z
    .strictObject({
      enabled,
      delete: z.boolean().exactOptional().describe("Patches may delete and move files. Default: false."),
      declare: z
        .enum(["apply_patch", "custom"])
        .exactOptional()
        .describe("OpenAI's own tool, or a custom tool that takes Codex's text. Default: apply_patch."),
    })
    .exactOptional()
    .describe("OpenAI's apply_patch, in the roots of `files`."),
  text_editor: z
    .strictObject({ enabled })
    .exactOptional()
    .describe("Anthropic's str_replace_based_edit_tool, in the roots of `files`."),
  memory: z
    .strictObject({ enabled })
    .exactOptional()
    .describe("Anthropic's memory: a folder an agent in the data folder."),
  shell: z
    .strictObject({
      enabled,
      root: z.string().min(1).exactOptional().describe("A writable root of `files`. Default: the run's workspace."),
      network: z.boolean().exactOptional().describe("Commands may use this machine's network. Default: false."),
      readable: z
        .array(z.string().min(1))
        .exactOptional()
        .describe("Folders with further programs that commands may read, relative to this file."),
      declare: z
        .enum(["shell", "local_shell"])
        .exactOptional()
        .describe("How the tool is declared to OpenAI. Default: shell."),
      timeout_ms: z.int().min(1).max(3_600_000).exactOptional().describe("Of one call. Default: 120000."),
      max_output_bytes: z
        .int()
        .min(1)
        .max(16 * megabyte)
        .exactOptional()
        .describe("At most of each stream of a command. Default: 16000."),
      memory_bytes: z
        .int()
        .min(16 * megabyte)
        .max(2 ** 40)
        .exactOptional()
        .describe("All processes of a command together. Default: 536870912."),
      processes: z.int().min(4).max(10_000).exactOptional().describe("At once. Default: 64."),
    })
    .exactOptional()
    .describe("Anthropic's bash, OpenAI's shell: commands in a sandbox. A rule of the policy must name `shell`."),
};

export function providedSettingsFrom(
  { applyPatch, textEditor, memory, shell }: ProvidedSection,
  base: string,
): ProvidedSettings {
  const { enabled: _enabled, readable = [], ...limits } = shell ?? {};
  return {
    applyPatch: applyPatch?.enabled === true ? { delete: applyPatch.delete, declare: applyPatch.declare } : undefined,
    textEditor: textEditor?.enabled === true,
    memory: memory?.enabled === true,
    shell: shell?.enabled === true ? { ...limits, readable: readable.map((path) => resolve(base, path)) } : undefined,
  };
}
