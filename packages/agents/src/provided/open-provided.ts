import { messageOf, RuntimeFault } from "@postern/core";
import type { FileToolOptions } from "postern/builtin";
import type { ProviderDefinedTool } from "postern/tools";
import type { ApplyPatchOptions } from "./apply-patch.ts";
import type { ShellToolOptions } from "./shell.ts";

/** A tool that is left out is off. */
export interface ProvidedChoice {
  readonly applyPatch: Pick<ApplyPatchOptions, "declare" | "delete"> | undefined;
  readonly textEditor: boolean;
  readonly memory: boolean;
  readonly shell: Omit<ShellToolOptions, "runs" | "roots" | "outOfReach" | "notWritable"> | undefined;
}

export interface ProvidedPlace {
  /** Roots and limits of `files`, and what they must not hold. */
  readonly files: FileToolOptions;
  readonly memories: string;
  /** Called for a tool that cannot be offered here. */
  readonly reject: (tool: string, why: string) => void;
}

/** The provider-defined tools that a configuration turns on. Without a sandbox, the shell is rejected. */
export async function openProvided(
  { applyPatch, textEditor, memory, shell }: ProvidedChoice,
  { files, memories, reject }: ProvidedPlace,
): Promise<readonly ProviderDefinedTool[]> {
  const { write: _write, delete: _delete, ...options } = files;
  const tools: ProviderDefinedTool[] = [];
  if (applyPatch !== undefined)
    tools.push((await import("./apply-patch.ts")).applyPatchTool({ ...options, ...applyPatch }));
  if (textEditor) tools.push((await import("./editor.ts")).textEditorTool(options));
  if (memory) {
    const { openat2, notRaceSafe } = options;
    tools.push((await import("./memory-tool.ts")).memoryTool({ folder: memories, openat2, notRaceSafe }));
  }
  if (shell === undefined) return tools;
  try {
    tools.push(await (await import("./shell.ts")).shellTool({ ...options, ...shell }));
  } catch (error) {
    if (!(error instanceof RuntimeFault) || error.code !== "dependency_missing") throw error;
    reject("shell", messageOf(error));
  }
  return tools;
}
