import {
  type Actor,
  checkId,
  checkMembers,
  messageOf,
  type Principal,
  RuntimeFault,
  shown,
  visible,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { ActiveSkills, SkillRequest } from "../../policy/policy.ts";
import { globMatcher, isGlob } from "../../policy/rules/glob.ts";
import { textFound } from "../files/encoding.ts";
import { FileRejection } from "../files/guard/rejection.ts";
import { mediaTypeOf } from "../files/media-type.ts";
import { ActiveRuns, type ActiveSkill, factsOf, type SkillKeeping, within } from "./active.ts";
import type { SkillInput } from "./define-skill.ts";
import { type Discovered, discover, type FoundSkill, readText, type SkillOnDisk } from "./discover.ts";
import { rosterOf } from "./roster.ts";
import { partsOf } from "./skill-folder.ts";
import {
  type LoadedSkill,
  maxFileBytes,
  type Skill,
  type SkillFile,
  type SkillProblem,
  type SkillRun,
  type Skills,
  unknownToolWarnings,
} from "./skills.ts";

/** @public */
export interface SkillsOptions {
  /** Each holds one folder a skill. Of two skills with one name the first found wins. */
  readonly folders: readonly string[];
  /** Made by `defineSkill`; found before those of the folders. */
  readonly skills?: readonly SkillInput[];
  /**
   * Follow symbolic links to skills, and look for skills in groups of folders (four levels). Only for folders whose links
   * you trust: they may lead anywhere. Default: false.
   */
  readonly linksAndGroups?: boolean;
  /** Skills that are always active in the runs of an agent, by the agent's name. No agent can end that. */
  readonly agents?: Readonly<Record<string, readonly string[]>>;
}

/**
 * What a runtime adds. Without it, activations end with the process and no tool counts as unknown.
 *
 * @public
 */
export interface SkillsContext {
  readonly keep?: SkillKeeping | undefined;
  /** Names of the registered tools. */
  readonly tools?: (() => readonly string[]) | undefined;
  readonly log?: ((message: string) => void) | undefined;
}

/** @throws RuntimeFault `internal` if the stored activations are not readable, `options_invalid` if a skill of `agents` cannot be loaded */
export async function openLibrary(options: SkillsOptions, context: SkillsContext): Promise<Skills> {
  const { agents = {} } = options;
  const runs = await ActiveRuns.open(context.keep);
  return new SkillLibrary(discover(options), runs, { ...context, agents });
}

interface Activation extends Pick<ActiveSkill, "byAgent"> {
  readonly by: Principal | Actor | undefined;
}

/** The skills that are always active for an agent. */
interface ActiveSkillSet {
  readonly skills: readonly ActiveSkill[];
  readonly facts: ActiveSkills | undefined;
}

class SkillLibrary implements Skills {
  readonly refused: readonly SkillProblem[];
  readonly notes: readonly SkillProblem[];
  readonly #found: ReadonlyMap<string, FoundSkill>;
  readonly #aliases = new Map<string, FoundSkill>();
  readonly #runs: ActiveRuns;
  readonly #context: SkillsContext;
  readonly #fixed = new Map<string, ActiveSkillSet>();
  readonly #list: readonly Skill[];
  readonly #roster: string;
  /** Instructions by their digest at the activation. The instructions of a run do not change. */
  readonly #instructions = new Map<string, string>();

  constructor(
    { found, refused, notes }: Discovered,
    runs: ActiveRuns,
    context: SkillsContext & Pick<SkillsOptions, "agents">,
  ) {
    this.#found = found;
    this.refused = refused;
    this.notes = notes;
    this.#runs = runs;
    this.#context = context;
    this.#list = Object.freeze([...found.values()].map(({ skill }) => skill));
    this.#roster = rosterOf(this.#list);
    for (const one of found.values())
      for (const alias of one.skill.aliases) if (!this.#aliases.has(alias)) this.#aliases.set(alias, one);
    for (const [agent, names] of Object.entries(context.agents ?? {})) this.#fix(agent, names);
  }

  /** @throws RuntimeFault `options_invalid`, because an agent without its skill could call everything */
  #fix(agent: string, names: readonly string[]): void {
    const skills = names.map((id): ActiveSkill => {
      try {
        const { skill, digest, instructions } = this.load(id);
        this.#instructions.set(digest, instructions);
        return { name: skill.name, version: skill.version, allowedTools: skill.allowedTools, digest };
      } catch (cause) {
        throw new RuntimeFault("options_invalid", `\`skills.agents\` of agent \`${agent}\`: ${messageOf(cause)}`, {
          cause,
        });
      }
    });
    this.#fixed.set(agent, { skills, facts: factsOf(skills) });
  }

  list(): readonly Skill[] {
    return this.#list;
  }

  roster(): string {
    return this.#roster;
  }

  find(id: string): Skill | undefined {
    return this.#named(id)?.skill;
  }

  load(id: string): LoadedSkill {
    const found = this.#known(id);
    if (found.entry === undefined) return loaded(found.skill, found.skill.instructions, []);
    const { skill, folder, entry, file, head } = found;
    const read = readText(folder, entry, file);
    if (read === undefined || "problem" in read) {
      const problem = read?.problem ?? `its ${file} is gone`;
      throw new RuntimeFault("skill_refused", `Skill \`${skill.name}\` cannot be loaded: ${problem}.`);
    }
    if (sha256(read.text.head) !== head) {
      throw new RuntimeFault(
        "skill_refused",
        `Skill \`${skill.name}\` was changed since Postern started, so what it restricts is not certain. Restart to take it as it is.`,
      );
    }
    return loaded(skill, read.text.body, filesOf(folder, entry));
  }

  read(id: string, path: string): SkillFile {
    const found = this.#known(id);
    if (found.entry === undefined)
      throw new RuntimeFault("skill_refused", `Skill \`${found.skill.name}\` brings no files along.`);
    const { skill, folder, entry } = found;
    try {
      const bytes = folder.read([entry, ...partsOf(path)], maxFileBytes);
      const text = textFound(bytes);
      return text === undefined ? { kind: "bytes", bytes, mediaType: mediaTypeOf(bytes) } : { kind: "text", text };
    } catch (error) {
      if (!(error instanceof FileRejection)) throw error;
      throw new RuntimeFault("skill_refused", `${visible(path)} of skill \`${skill.name}\` ${error.message}`, {
        cause: error,
      });
    }
  }

  activate(run: SkillRun, id: string, by?: Principal | Actor): Promise<LoadedSkill> {
    return this.#activate(run, id, { by });
  }

  activateByAgent(run: SkillRun, id: string, by: Principal): Promise<LoadedSkill> {
    return this.#activate(run, id, { by, byAgent: true });
  }

  async #activate(run: SkillRun, id: string, { by, byAgent }: Activation): Promise<LoadedSkill> {
    checkRun(run);
    const given = this.load(id);
    const { skill, digest, instructions } = given;
    const { name, version, allowedTools } = skill;
    if (await this.#runs.add(run, { name, version, allowedTools, digest, byAgent }, by)) {
      this.#instructions.set(digest, instructions);
      for (const warning of unknownToolWarnings(skill, this.unknownTools(skill)))
        this.#context.log?.(`Skill \`${name}\`: ${warning}.`);
    }
    return given;
  }

  async deactivate(run: SkillRun, id: string, by?: Principal | Actor): Promise<boolean> {
    checkRun(run);
    checkId(id, "skill");
    const name = this.find(id)?.name ?? id; // a skill whose file is gone can still be active
    return this.#runs.remove(run, name, by);
  }

  active(run: SkillRun): readonly string[] {
    checkRun(run);
    return this.#allOf(run).map(({ name }) => name);
  }

  /** The skills of its agent first, each once. */
  #allOf(run: SkillRun): readonly ActiveSkill[] {
    const fixed = this.#fixed.get(run.agent ?? "")?.skills ?? [];
    const names = new Set(fixed.map(({ name }) => name));
    return [...fixed, ...this.#runs.skillsOf(run).filter(({ name }) => !names.has(name))];
  }

  instructions(run: SkillRun): string {
    checkRun(run);
    const parts = this.#allOf(run).map((active) => ({ name: active.name, text: this.#instructionsFor(run, active) }));
    return parts.flatMap(({ name, text }) => (text === "" ? [] : [`# Skill: ${name}\n\n${text}`])).join("\n\n");
  }

  activeFor(tenant: string, runId: string, agent?: string): ActiveSkills | undefined {
    return this.#withFixed(agent, this.#runs.factsFor(tenant, runId));
  }

  activeWith(run: SkillRun, ids: readonly string[]): ActiveSkills | undefined {
    checkRun(run);
    if (!Array.isArray(ids))
      throw new RuntimeFault("skill_unknown", `\`skills\` is ${shown(ids)}; it must be a list of names.`);
    const more = (ids as readonly string[]).map((id) => this.#known(id).skill);
    return this.#withFixed(run.agent, factsOf([...this.#runs.skillsOf(run), ...more]));
  }

  #withFixed(agent: string | undefined, ofRun: ActiveSkills | undefined): ActiveSkills | undefined {
    return within(ofRun, agent === undefined ? undefined : this.#fixed.get(agent)?.facts);
  }

  requests(run: SkillRun): readonly SkillRequest[] {
    checkRun(run);
    return this.#allOf(run).map(({ name, allowedTools }) => ({ skill: name, tools: allowedTools }));
  }

  unknownTools({ allowedTools }: Skill): readonly string[] {
    const registered = this.#context.tools?.();
    if (registered === undefined) return [];
    return allowedTools.filter((wanted) => {
      const matches = isGlob(wanted) ? globMatcher(wanted) : (tool: string) => tool === wanted;
      return !registered.some(matches);
    });
  }

  /** Read again after a restart. Empty if it cannot be read; its restriction stays. */
  #instructionsFor({ runId }: SkillRun, { name, digest }: ActiveSkill): string {
    const known = this.#instructions.get(digest);
    if (known !== undefined) return known;
    let instructions = "";
    try {
      const loaded = this.load(name);
      instructions = loaded.instructions;
      if (loaded.digest !== digest)
        this.#context.log?.(
          `Skill \`${name}\` is active in run \`${runId}\` with other instructions than it was activated with.`,
        );
    } catch (error) {
      if (!(error instanceof RuntimeFault)) throw error;
      this.#context.log?.(`Run \`${runId}\` continues without the instructions of an active skill: ${error.message}`);
    }
    this.#instructions.set(digest, instructions);
    return instructions;
  }

  #named(id: string): FoundSkill | undefined {
    return this.#found.get(id) ?? this.#aliases.get(id);
  }

  #known(id: string): FoundSkill {
    const found = this.#named(id);
    if (found !== undefined) return found;
    throw new RuntimeFault("skill_unknown", `There is no skill ${visible(id)}; \`list_skills\` lists them.`);
  }
}

function loaded(skill: Skill, instructions: string, files: readonly string[]): LoadedSkill {
  return Object.freeze({ skill, instructions, digest: sha256(instructions), files });
}

function filesOf(folder: SkillOnDisk["folder"], entry: string): readonly string[] {
  try {
    return Object.freeze(folder.files(entry));
  } catch (error) {
    if (error instanceof FileRejection) return []; // the instructions are useful without a list of files
    throw error;
  }
}

/** @throws RuntimeFault `request_invalid` */
function checkRun(run: SkillRun): void {
  const members = { tenant: "a text", runId: "a text", agent: "a text" } as const;
  checkMembers(run, { code: "request_invalid", what: "The run", members, needed: ["tenant", "runId"] });
}
