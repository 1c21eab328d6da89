/**
 * Prompt packages from disk (the Agent Skills standard): instructions that an agent gets while a skill is active in its
 * run, and the only tools that it may call then.
 *
 * Invariant: a skill is data written by others. It restricts what its run may call and never widens it. Its files are read
 * only beneath its own folder and through no link. Before a skill is loaded, agents see only its name and description.
 * Next: front-matter.ts (the text), read-skill.ts (the rules), discover.ts (the folders), library.ts (what was found),
 * active.ts (what is active where, over restarts), skill-tools.ts (what agents call), skills-config.ts (the section).
 */
import { type Actor, type Principal, visible } from "@postern/core";
import type { ActiveSkills, SkillRequest } from "../../policy/policy.ts";

/** @public */
export interface Skill {
  /** Its id. */
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** The tools that a run may call while it is active, by name or pattern. An empty list restricts nothing. */
  readonly allowedTools: readonly string[];
  readonly license?: string;
  readonly compatibility?: string;
  readonly category?: string;
  readonly tags: readonly string[];
  /** Other names it can be called by. */
  readonly aliases: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Its folder. Null if it is defined in code. */
  readonly path: string | null;
  /** What breaks the standard, in sentences. The skill was loaded nevertheless. */
  readonly warnings: readonly string[];
}

/** @public */
export interface LoadedSkill {
  /** The same object as in `list()`. */
  readonly skill: Skill;
  readonly instructions: string;
  /** SHA-256 of the instructions. */
  readonly digest: string;
  /** The first 200 files for `read`, relative to the skill's folder. */
  readonly files: readonly string[];
}

/**
 * A file in a skill folder that was not loaded, or was loaded with a warning, and what to do about it.
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
  /** The agent of the run. The skills that this agent always has count as active. */
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
  /** Skills that were not loaded. */
  readonly refused: readonly SkillProblem[];
  /** Warnings about the folders. A skill has its own `warnings`. */
  readonly notes: readonly SkillProblem[];
  /** For the system prompt: names and descriptions, escaped. Empty if there are no skills. */
  roster(): string;
  /** By name, else by alias. */
  find(id: string): Skill | undefined;
  /** Reads its instructions from disk. Throws RuntimeFault `skill_unknown`, `skill_refused`. */
  load(id: string): LoadedSkill;
  /** A reference, asset or script of a skill. Throws RuntimeFault `skill_unknown`, `skill_refused`. */
  read(id: string, path: string): SkillFile;
  /** By the host or an operator. The run gets its instructions and its restriction. Stored when this resolves. */
  activate(run: SkillRun, id: string, by?: Principal | Actor): Promise<LoadedSkill>;
  /** By the agent itself: its tool `skills`. The restriction only narrows what the skills of the host allow. */
  activateByAgent(run: SkillRun, id: string, by: Principal): Promise<LoadedSkill>;
  /** Only the host calls it: an agent cannot lift its restriction. Resolves to false if it was not active. */
  deactivate(run: SkillRun, id: string, by?: Principal | Actor): Promise<boolean>;
  /** Names, in the order of their activation. */
  active(run: SkillRun): readonly string[];
  /** The end of the system prompt: the instructions of the active skills. Empty if none is active. */
  instructions(run: SkillRun): string;
  /** For the verdict gate at every call. Returns undefined if no skill is active. */
  activeFor(tenant: string, runId: string, agent?: string): ActiveSkills | undefined;
  /** What `activeFor` returns if these are active too. Throws RuntimeFault `skill_unknown`. */
  activeWith(run: SkillRun, ids: readonly string[]): ActiveSkills | undefined;
  /** What the active skills allow, for the report of the effective policy. */
  requests(run: SkillRun): readonly SkillRequest[];
  /** Names in its `allowedTools` without a registered tool. They are ignored. */
  unknownTools(skill: Skill): readonly string[];
}

/** A warning for people and agents: names in `allowed-tools` that no registered tool has. */
export function unknownToolWarnings({ allowedTools }: Skill, unknown: readonly string[]): readonly string[] {
  if (unknown.length > 0 && unknown.length === allowedTools.length)
    return [
      `\`allowed-tools\` names only tools that are not registered here (${unknown.map(visible).join(", ")}), so this skill allows no tool here`,
    ];
  return unknown.map((tool) => `\`allowed-tools\` names ${visible(tool)}, which is not registered; it is ignored`);
}

/** The largest published SKILL.md that we found has 134 kB. */
export const maxSkillBytes: number = 512 * 1024;
/** Of a reference or an asset. */
export const maxFileBytes: number = 4 * 1024 * 1024;
/** Of a description in the roster and in lists. */
export const maxDescription = 1024;
