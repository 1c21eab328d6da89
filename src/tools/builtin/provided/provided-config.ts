/** The keys of provider-defined tools in the `tools` section. Only src/config imports this: the tools themselves know no zod. */
import { resolve } from "node:path";
import { z } from "zod";
import type { ApplyPatchOptions } from "./apply-patch.ts";
import type { ShellToolOptions } from "./shell.ts";

interface Switch {
  readonly enabled?: boolean | undefined;
}

export interface ProvidedFile {
  readonly apply_patch?: (Switch & Pick<ApplyPatchOptions, "declare" | "delete">) | undefined;
  readonly text_editor?: Switch | undefined;
  readonly memory?: Switch | undefined;
  readonly shell?: (Switch & ShellFile) | undefined;
}

interface ShellFile extends Pick<ShellToolOptions, "root" | "network" | "readable" | "declare"> {
  readonly timeout_ms?: number | undefined;
  readonly max_output_bytes?: number | undefined;
  readonly memory_bytes?: number | undefined;
  readonly processes?: number | undefined;
}

/** Undefined: the tool is off. */
export interface ProvidedSettings {
  readonly applyPatch: Pick<ApplyPatchOptions, "declare" | "delete"> | undefined;
  readonly textEditor: boolean;
  readonly memory: boolean;
  readonly shell: Omit<ShellToolOptions, "runs" | "roots" | "outOfReach" | "notWritable"> | undefined;
}

const enabled = z.boolean().optional().describe("Offer the tool; false when nothing is said.");
const megabyte = 1024 * 1024;

/** One key a tool. */
export const providedShape: z.ZodRawShape & { readonly [Key in keyof ProvidedFile]-?: z.ZodType<ProvidedFile[Key]> } = {
  apply_patch: z
    .strictObject({
      enabled,
      delete: z.boolean().optional().describe("Patches may delete and move files; false when nothing is said."),
      declare: z
        .enum(["apply_patch", "custom"])
        .optional()
        .describe("OpenAI's own tool, or a custom tool that takes Codex's text; apply_patch when nothing is said."),
    })
    .optional()
    .describe("OpenAI's apply_patch, in the roots of `files`."),
  text_editor: z
    .strictObject({ enabled })
    .optional()
    .describe("Anthropic's str_replace_based_edit_tool, in the roots of `files`."),
  memory: z.strictObject({ enabled }).optional().describe("Anthropic's memory: a folder an agent in the data folder."),
  shell: z
    .strictObject({
      enabled,
      root: z
        .string()
        .min(1)
        .optional()
        .describe("A writable root of `files`; the run's workspace when nothing is said."),
      network: z.boolean().optional().describe("Commands may use this machine's network; false when nothing is said."),
      readable: z
        .array(z.string().min(1))
        .optional()
        .describe("Folders with further programs that commands may read, relative to this file."),
      declare: z.enum(["shell", "local_shell"]).optional().describe("How OpenAI is told; shell when nothing is said."),
      timeout_ms: z.int().min(1).max(3_600_000).optional().describe("Of one call; 120000 when nothing is said."),
      max_output_bytes: z
        .int()
        .min(1)
        .max(16 * megabyte)
        .optional()
        .describe("Kept of each stream of a command; 16000 when nothing is said."),
      memory_bytes: z
        .int()
        .min(16 * megabyte)
        .max(2 ** 40)
        .optional()
        .describe("All processes of a command together; 536870912 when nothing is said."),
      processes: z.int().min(4).max(10_000).optional().describe("At once; 64 when nothing is said."),
    })
    .optional()
    .describe("Anthropic's bash, OpenAI's shell: commands in a sandbox. A rule of the policy must name `shell`."),
};

export function providedSettingsFrom(
  { apply_patch: patch, text_editor: editor, memory, shell }: ProvidedFile,
  base: string,
): ProvidedSettings {
  return {
    applyPatch: patch?.enabled === true ? { delete: patch.delete, declare: patch.declare } : undefined,
    textEditor: editor?.enabled === true,
    memory: memory?.enabled === true,
    shell: shell?.enabled === true ? shellSettings(shell, base) : undefined,
  };
}

function shellSettings(
  { root, network, readable = [], declare, ...limits }: ShellFile,
  base: string,
): NonNullable<ProvidedSettings["shell"]> {
  const { timeout_ms, max_output_bytes, memory_bytes, processes } = limits;
  return {
    ...{ root, network, declare, readable: readable.map((path) => resolve(base, path)) },
    ...(timeout_ms !== undefined && { timeoutMs: timeout_ms }),
    ...(max_output_bytes !== undefined && { maxOutputBytes: max_output_bytes }),
    ...(memory_bytes !== undefined && { memoryBytes: memory_bytes }),
    ...(processes !== undefined && { processes: processes }),
  };
}
