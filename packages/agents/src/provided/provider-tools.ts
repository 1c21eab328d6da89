/** `@postern/agents/provider-tools`: tools that providers define and that run here. */
export { type ApplyPatchOptions, applyPatchTool } from "./apply-patch.ts";
export { textEditorTool } from "./editor.ts";
export { type MemoryToolOptions, memoryTool } from "./memory-tool.ts";
export { type ShellToolOptions, shellTool } from "./shell.ts";
export type { ShellLimits } from "./shell-sandbox.ts";
