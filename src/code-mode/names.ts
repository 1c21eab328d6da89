/** Every door offers it under this name (D1); compile.ts and recovery.ts know it too. */
export const chainToolName = "tool_chain";
