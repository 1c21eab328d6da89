import { type Principal, RuntimeFault } from "@postern/core";
import type { SkillRun, Skills } from "postern/builtin";
import type { ActiveSkills, ToolFacts } from "postern/policy";
import { skillsForbid } from "postern/tools";

/** The skills of one run of an agent: active before its first call, and applied at once to the tools it is shown. */
export class AttachedSkills {
  /** Resolves when they are active. Rejects when they cannot be: no call runs without their restriction. */
  readonly ready: Promise<void>;
  readonly #skills: Skills | undefined;
  readonly #run: SkillRun;
  readonly #by: Principal | undefined;
  #soon: ActiveSkills | undefined;

  /** @throws RuntimeFault `skill_unknown` */
  constructor(
    skills: Skills | undefined,
    run: SkillRun,
    { names, by }: { readonly names: readonly string[]; readonly by: Principal | undefined },
  ) {
    this.#skills = skills;
    this.#run = run;
    this.#by = by;
    if (names.length > 0 && skills === undefined)
      throw new RuntimeFault("skill_unknown", "The agent has skills, but the runtime was given no folder for skills.");
    if (names.length > 0) this.#soon = skills?.activeWith(run, names);
    this.ready = this.#activate(names);
    this.ready.catch(() => undefined); // each call of the agent rejects with it
  }

  /** Skills that are being activated count already. */
  allows(facts: ToolFacts): boolean {
    return this.#soon === undefined || skillsForbid(this.#soon, facts) === undefined;
  }

  async instructions(): Promise<string> {
    await this.ready;
    return this.#skills?.instructions(this.#run) ?? "";
  }

  async detach(skill: string): Promise<boolean> {
    await this.ready;
    return (await this.#skills?.deactivate(this.#run, skill, this.#by)) ?? false;
  }

  async #activate(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#skills?.activate(this.#run, name, this.#by);
    this.#soon = undefined;
  }
}
