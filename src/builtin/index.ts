/**
 * `postern/builtin`: tools for files, memory, skills and artifacts.
 *
 * @packageDocumentation
 */

export type { FileToolOptions } from "./files/files.ts";
export { fileTools } from "./files/files.ts";
export type { FileRoot, RootsOptions } from "./files/roots.ts";
export type { EmbeddedMemory } from "./memory/embedded-memory.ts";
export { openEmbeddedMemory } from "./memory/embedded-memory.ts";
export type { Memory, MemoryCall, MemoryFor, MemoryProvider, WriteMode, WrittenMemory } from "./memory/memory.ts";
export type { MemoryOptions } from "./memory/memory-tools.ts";
export { memoryTools } from "./memory/memory-tools.ts";
export type { ServerMemoryOptions } from "./memory/server-memory.ts";
export { serverMemory } from "./memory/server-memory.ts";
export { readArtifact } from "./read-artifact.ts";
export type { SkillKeeping } from "./skills/active.ts";
export type { SkillDefinition, SkillInput } from "./skills/define-skill.ts";
export { defineSkill } from "./skills/define-skill.ts";
export type { SkillsContext, SkillsOptions } from "./skills/library.ts";
export { openSkills } from "./skills/open-skills.ts";
export type { LoadedSkill, Skill, SkillFile, SkillProblem, SkillRun, Skills } from "./skills/skills.ts";
