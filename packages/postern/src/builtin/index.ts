/**
 * `postern/builtin`: tools for files, memory, skills and artifacts, and the guard of files for tools of your own.
 *
 * @packageDocumentation
 */

export type { EditedFile, SeenFile, WriteInput } from "./files/changes.ts";
export type { LineChange, TextEdit } from "./files/editing.ts";
export type { FileToolOptions } from "./files/files.ts";
export { fileTools } from "./files/files.ts";
export type { Folder as OpenFolder } from "./files/guard/folder.ts";
export type { RejectionReason } from "./files/guard/rejection.ts";
export { FileRejection, rejectionOf } from "./files/guard/rejection.ts";
export type { DeleteInput, MoveInput } from "./files/moves.ts";
export type {
  FileList,
  Files,
  FindLimits,
  FoundPaths,
  NewContent,
  ReadFile,
  RejectedFile,
} from "./files/open-files.ts";
export { openFiles } from "./files/open-files.ts";
export type { ShownChange } from "./files/preview.ts";
export type { FileReading, ReadRange } from "./files/reading.ts";
export type { FileCaller, FileRoot, RootsOptions } from "./files/roots.ts";
export type { ListedEntry, Truncated } from "./files/search/job.ts";
export type { TextEdits } from "./files/text-edits.ts";
export { textEdits } from "./files/text-edits.ts";
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
