/**
 * Prompt packages from disk (the Agent Skills standard, SPEC 11): instructions that an agent is given while a skill is
 * active in its run, and the tools it is held to meanwhile.
 *
 * Invariant: a skill is data written by others. It restricts what its run may call and never widens it; its files are read
 * beneath its own folder only, through no link; of a skill that is not loaded nobody sees more than name and description.
 * Next: front-matter.ts (the text), read-skill.ts (the rules), discover.ts (the folders), library.ts (what was found),
 * active.ts (what is active where, over restarts), skill-tools.ts (what agents call), skills-config.ts (the section).
 */
import type { Actor } from "../../core/actor.ts";
import type { Principal } from "../../core/call.ts";
import type { ActiveSkills, SkillRequest } from "../../policy/policy.ts";

/** @public */
export interface Skill {
  /** What it is called by, its id. */
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** The tools a run is held to while it is active, by name or pattern; empty: it restricts nothing. */
  readonly allowedTools: readonly string[];
  readonly license?: string;
  readonly compatibility?: string;
  readonly category?: string;
  readonly tags: readonly string[];
  /** Other names it can be called by. */
  readonly aliases: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Its folder; null: it was given in code. */
  readonly path: string | null;
  /** What is not as the standard wants it, in sentences; it was loaded all the same. */
  readonly warnings: readonly string[];
}

/** @public */
export interface LoadedSkill {
  /** The same object as in `list()`. */
  readonly skill: Skill;
  readonly instructions: string;
  /** SHA-256 of the instructions. */
  readonly digest: string;
  /** What can be read with `read`, relative to the skill's folder: the first 200. */
  readonly files: readonly string[];
}

/**
 * Something that lies in a skill folder and was not loaded, or was loaded with a doubt; and what to do about it.
 *
 * @public
 */
export interface SkillProblem {
  readonly path: string;
  readonly problem: string;
  readonly fix: string;
}

/**
 * Where skills are active: one run of one tenant.
 *
 * @public
 */
export interface SkillRun {
  readonly tenant: string;
  readonly runId: string;
  /** Whose run it is: the skills that this agent is always held to count as active in it. */
  readonly agent?: string;
}

/**
 * A file of a skill: text, or bytes with their media type.
 *
 * @public
 */
export type SkillFile =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array; readonly mediaType: string };

/** @public */
export interface Skills {
  /** In the order of their names. */
  list(): readonly Skill[];
  /** What was not loaded. */
  readonly refused: readonly SkillProblem[];
  /** What is odd about the folders themselves; what is odd about a skill stands in its `warnings`. */
  readonly notes: readonly SkillProblem[];
  /** For the system prompt: names and descriptions only, escaped. Empty when there are none. */
  roster(): string;
  /** By name, else by alias. */
  find(id: string): Skill | undefined;
  /** Reads its instructions from disk. Throws RuntimeFault `skill_unknown`, `skill_changed`, `skill_unreadable`. */
  load(id: string): LoadedSkill;
  /** A reference, asset or script of a skill. Throws RuntimeFault `skill_unknown`, `skill_file_refused`. */
  read(id: string, path: string): SkillFile;
  /** By the agent itself, or by an operator. From now on the run has its instructions and is held to its tools; on the disk when this resolves. Twice is once. */
  activate(run: SkillRun, id: string, by?: Principal | Actor): Promise<LoadedSkill>;
  /** By the host: an agent cannot lift what it is held to. False: it was not active. */
  deactivate(run: SkillRun, id: string, by?: Principal | Actor): Promise<boolean>;
  /** Names, in the order of their activation. */
  active(run: SkillRun): readonly string[];
  /** What is appended to the system prompt: it ends with the instructions of what is active. Empty when nothing is. */
  instructions(run: SkillRun): string;
  /** What the verdict gate asks at every call. Undefined: nothing is active. */
  activeFor(tenant: string, runId: string, agent?: string): ActiveSkills | undefined;
  /** What `activeFor` will say when these are active in the run, too. Throws RuntimeFault `skill_unknown`. */
  activeWith(run: SkillRun, ids: readonly string[]): ActiveSkills | undefined;
  /** What active skills ask for, for the report of the effective policy. */
  requests(run: SkillRun): readonly SkillRequest[];
  /** Names in its `allowedTools` that nobody registered: they are ignored (case 155). */
  unknownTools(skill: Skill): readonly string[];
}

/** What a SKILL.md may weigh; the largest of the published ones found has 134 kB. */
export const maxSkillBytes: number = 512 * 1024;
/** What a reference or an asset may weigh. */
export const maxFileBytes: number = 4 * 1024 * 1024;
/** Of a description in roster and list: more is the body's business. */
export const maxDescription = 1024;
