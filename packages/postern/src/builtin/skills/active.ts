import {
  type Actor,
  type Clock,
  type Json,
  type JsonObject,
  type NotedEvent,
  newTraceId,
  type Principal,
  RuntimeFault,
  SystemClock,
} from "@postern/core";
import { lazySchema } from "../../checks/zod.ts";
import { type ActiveSkills, alwaysOffered } from "../../policy/policy.ts";
import { LiveCollection } from "../../store/live-collection.ts";
import { MemoryStore } from "../../store/memory-store.ts";
import type { Store } from "../../store/store.ts";
import type { SkillRun } from "./skills.ts";

/**
 * Stores what is active. Without it, activations end with the process.
 *
 * @public
 */
export interface SkillKeeping {
  readonly store: Store;
  readonly clock: Clock;
  /** In the event of each change. */
  readonly policy: { readonly version: string };
  /** Another process of the store activated a skill, or ended one. */
  readonly changedElsewhere?: () => void;
}

/** A skill as it was when it was activated. Its restriction stays if its file is removed. */
export interface ActiveSkill {
  readonly name: string;
  readonly version: string;
  readonly allowedTools: readonly string[];
  /** SHA-256 of its instructions. */
  readonly digest: string;
  /** The agent activated it itself: it narrows what the skills of the host allow. */
  readonly byAgent?: true | undefined;
}

interface RunSkills {
  readonly run: SkillRun;
  readonly skills: readonly ActiveSkill[];
  /** Undefined if nothing is active. */
  readonly facts: ActiveSkills | undefined;
}

interface SkillChange {
  readonly run: SkillRun;
  readonly type: "skill.activated" | "skill.deactivated";
  readonly skill: ActiveSkill;
  readonly by: Principal | Actor | undefined;
  /** Returns undefined if nothing changes. */
  readonly next: (skills: readonly ActiveSkill[]) => readonly ActiveSkill[] | undefined;
}

const kind = "active-skills";
/** No person reads a longer prompt. */
const mostActive = 32;
const runIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Which skills are active in which run, one document a run. Read without waiting, because every call asks.
 */
export class ActiveRuns {
  readonly #keeping: SkillKeeping | undefined;
  readonly #runs: LiveCollection<RunSkills>;

  private constructor(keeping: SkillKeeping | undefined, runs: LiveCollection<RunSkills>) {
    this.#keeping = keeping;
    this.#runs = runs;
  }

  /** @throws RuntimeFault `internal`, because a guess could lift a restriction */
  static async open(keeping: SkillKeeping | undefined): Promise<ActiveRuns> {
    const store = keeping?.store ?? new MemoryStore({ clock: new SystemClock(), serialize: () => "" });
    const { changedElsewhere = () => {} } = keeping ?? {};
    const runs = new LiveCollection({ store, kind, read: readBody, write: bodyOf, changedElsewhere });
    return new ActiveRuns(keeping, await runs.readAll());
  }

  factsFor(tenant: string, runId: string): ActiveSkills | undefined {
    return this.#runs.size === 0 ? undefined : this.#runs.at(idOf({ tenant, runId }))?.facts;
  }

  skillsOf(run: SkillRun): readonly ActiveSkill[] {
    return this.#runs.at(idOf(run))?.skills ?? [];
  }

  /** Resolves to false if it was active already. A skill of the agent becomes one of the host if the host activates it. */
  add(run: SkillRun, skill: ActiveSkill, by: Principal | Actor | undefined): Promise<boolean> {
    const next = (skills: readonly ActiveSkill[]): readonly ActiveSkill[] | undefined => {
      const at = skills.findIndex(({ name }) => name === skill.name);
      if (at >= 0) return skill.byAgent === true || skills[at]?.byAgent !== true ? undefined : skills.with(at, skill);
      if (skills.length < mostActive) return [...skills, skill];
      throw new RuntimeFault("skill_refused", `${mostActive} skills are active in this run; deactivate one first.`);
    };
    return this.#change({ run, type: "skill.activated", skill, by, next });
  }

  /** Resolves to false if it was not active. */
  remove(run: SkillRun, name: string, by: Principal | Actor | undefined): Promise<boolean> {
    const skill = this.skillsOf(run).find((active) => active.name === name);
    if (skill === undefined) return Promise.resolve(false);
    const next = (skills: readonly ActiveSkill[]): readonly ActiveSkill[] | undefined =>
      skills.some((active) => active.name === name) ? skills.filter((active) => active.name !== name) : undefined;
    return this.#change({ run, type: "skill.deactivated", skill, by, next });
  }

  async #change(change: SkillChange): Promise<boolean> {
    const { run } = change;
    checkRun(run);
    const { changed } = await this.#runs.change(idOf(run), (before) => {
      const skills = change.next(before?.skills ?? []);
      const event = this.#keeping && this.#event(change, this.#keeping);
      return skills && { item: { run, skills, facts: factsOf(skills) }, event };
    });
    return changed;
  }

  #event({ run, type, skill, by }: SkillChange, { clock, policy }: SkillKeeping): NotedEvent {
    const { name, version, digest, allowedTools, byAgent } = skill;
    return {
      moment: "noted",
      at: clock.now(),
      type,
      summary: `skill ${name} ${type === "skill.activated" ? "is active" : "is no longer active"} in run ${run.runId}`,
      traceId: newTraceId(),
      tenant: run.tenant,
      ...(by !== undefined && ("agent" in by ? { principal: by } : { by: by.by, via: by.via })),
      policyVersion: policy.version,
      outcome: "info",
      data: {
        run_id: run.runId,
        skill: name,
        ...{ version, digest },
        allowed_tools: allowedTools,
        ...(byAgent === true && { by_agent: true }),
      },
    };
  }
}

/** What the skills of the host allow. The skills that the agent activated itself can only narrow it. */
export function factsOf(skills: readonly RestrictingSkill[]): ActiveSkills | undefined {
  const ofHost = unionOf(skills.filter(({ byAgent }) => byAgent !== true));
  return within(unionOf(skills.filter(({ byAgent }) => byAgent === true)), ofHost);
}

type RestrictingSkill = Pick<ActiveSkill, "name" | "allowedTools" | "byAgent">;

/** Both must allow a tool. */
export function within(inner: ActiveSkills | undefined, outer: ActiveSkills | undefined): ActiveSkills | undefined {
  if (inner === undefined || outer === undefined) return inner ?? outer;
  return Object.freeze({ ...inner, held: within(inner.held, outer) ?? outer });
}

/** The union of the lists of those that have one. The tools that find skills and tools are always allowed. */
function unionOf(skills: readonly RestrictingSkill[]): ActiveSkills | undefined {
  if (skills.length === 0) return undefined;
  const lists = skills.filter(({ allowedTools }) => allowedTools.length > 0);
  const allowed = new Set([...lists.flatMap(({ allowedTools }) => allowedTools), ...alwaysOffered]);
  return Object.freeze({
    names: Object.freeze(skills.map(({ name }) => name)),
    allowedTools: lists.length === 0 ? undefined : Object.freeze([...allowed]),
  });
}

function checkRun({ tenant, runId }: SkillRun): void {
  if (typeof runId !== "string" || !runIdPattern.test(runId))
    throw new RuntimeFault(
      "context_invalid",
      `\`runId\` is ${JSON.stringify(runId)}; it must be 1 to 64 of A-Z a-z 0-9 _ -.`,
    );
  if (typeof tenant !== "string" || tenant === "")
    throw new RuntimeFault(
      "context_invalid",
      `\`tenant\` is ${JSON.stringify(tenant)}; name the tenant the run belongs to.`,
    );
}

/** A run's id has no slash, so no two runs have the same name. */
function idOf({ tenant, runId }: SkillRun): string {
  return `${tenant}/${runId}`;
}

function bodyOf({ run: { tenant, runId }, skills }: RunSkills): JsonObject {
  return {
    tenant,
    run_id: runId,
    skills: skills.map(({ allowedTools, byAgent, ...rest }) => ({
      ...rest,
      allowed_tools: allowedTools,
      ...(byAgent === true && { by_agent: true }),
    })),
  };
}

const bodySchema = lazySchema((zod) => {
  const text = zod.string();
  const byAgent = zod.literal(true).exactOptional();
  const skill = zod.object({
    ...{ name: text, version: text, digest: text },
    ...{ allowed_tools: zod.array(text), by_agent: byAgent },
  });
  return zod.object({ tenant: text, run_id: text, skills: zod.array(skill) });
});

function readBody(body: Json): RunSkills {
  const parsed = bodySchema().safeParse(body);
  if (!parsed.success)
    throw new RuntimeFault("internal", "What the store holds of a run's active skills is not what Postern writes.");
  const { tenant, run_id: runId, skills: list } = parsed.data;
  const skills = list.map(({ allowed_tools: allowedTools, by_agent: byAgent, ...skill }) => ({
    ...skill,
    allowedTools,
    byAgent,
  }));
  return { run: { tenant, runId }, skills, facts: factsOf(skills) };
}
