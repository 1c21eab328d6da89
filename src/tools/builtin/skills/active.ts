import type { Actor } from "../../../calls/actor.ts";
import type { Principal } from "../../../calls/call.ts";
import type { Clock } from "../../../calls/clock.ts";
import type { NotedEvent } from "../../../calls/event.ts";
import { RuntimeFault } from "../../../calls/fault.ts";
import { newTraceId } from "../../../calls/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../calls/json.ts";
import type { ActiveSkills } from "../../../policy/policy.ts";
import { alwaysOffered } from "../../../policy/policy.ts";
import { commitAndTake, type Store } from "../../../stores/store.ts";
import type { SkillRun } from "./skills.ts";

/**
 * Where it is kept what is active; without one it ends with the process.
 *
 * @public
 */
export interface SkillKeeping {
  readonly store: Store;
  readonly clock: Clock;
  /** Told in the event of each change (D25). */
  readonly policyVersion: string;
}

/** One skill as it was when it was activated: its restriction outlives its file. */
export interface ActiveSkill {
  readonly name: string;
  readonly version: string;
  readonly allowedTools: readonly string[];
  /** SHA-256 of its instructions. */
  readonly digest: string;
}

interface Entry {
  readonly version: number;
  readonly skills: readonly ActiveSkill[];
  /** Undefined: nothing is active. */
  readonly facts: ActiveSkills | undefined;
}

interface Change {
  readonly run: SkillRun;
  readonly type: "skill.activated" | "skill.deactivated";
  readonly skill: ActiveSkill;
  readonly by: Principal | Actor | undefined;
  /** Undefined: it is so already, and nothing is written. */
  readonly next: (skills: readonly ActiveSkill[]) => readonly ActiveSkill[] | undefined;
}

const kind = "active-skills";
/** More would be a prompt nobody has read. */
const mostActive = 32;
const runIdPattern = /^[A-Za-z0-9_-]{1,64}$/;
/** Other processes may win a few times in a row; more than this means that something else is wrong. */
const mostTries = 20;
const nothing: Entry = { version: 0, skills: [], facts: undefined };

/**
 * Which skills are active in which run. Read without waiting, because every call asks; each change is one conditional
 * write of the run's own document, with its event, and holds once that is committed.
 */
export class ActiveRuns {
  readonly #keeping: SkillKeeping | undefined;
  readonly #byTenant = new Map<string, Map<string, Entry>>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(keeping: SkillKeeping | undefined) {
    this.#keeping = keeping;
  }

  /** @throws RuntimeFault `skills_unreadable`: guessing what a run was held to would be worse than not starting */
  async restore(): Promise<void> {
    if (this.#keeping === undefined) return;
    const { documents } = this.#keeping.store;
    for (const id of await documents.list(kind, "")) {
      const document = await documents.get(kind, id);
      if (document === undefined) continue;
      const { run, skills } = readBody(document.body);
      this.#set(run, entryOf(document.version, skills));
    }
  }

  factsFor(tenant: string, runId: string): ActiveSkills | undefined {
    return this.#byTenant.get(tenant)?.get(runId)?.facts;
  }

  skillsOf(run: SkillRun): readonly ActiveSkill[] {
    return this.#entry(run).skills;
  }

  /** False: it was active already. */
  add(run: SkillRun, skill: ActiveSkill, by: Principal | Actor | undefined): Promise<boolean> {
    const next = (skills: readonly ActiveSkill[]): readonly ActiveSkill[] | undefined => {
      if (skills.some(({ name }) => name === skill.name)) return undefined;
      if (skills.length < mostActive) return [...skills, skill];
      throw new RuntimeFault("skill_limit", `${mostActive} skills are active in this run; deactivate one first.`);
    };
    return this.#change({ run, type: "skill.activated", skill, by, next });
  }

  /** False: it was not active. */
  remove(run: SkillRun, name: string, by: Principal | Actor | undefined): Promise<boolean> {
    const skill = this.skillsOf(run).find((active) => active.name === name);
    if (skill === undefined) return Promise.resolve(false);
    const next = (skills: readonly ActiveSkill[]): readonly ActiveSkill[] | undefined =>
      skills.some((active) => active.name === name) ? skills.filter((active) => active.name !== name) : undefined;
    return this.#change({ run, type: "skill.deactivated", skill, by, next });
  }

  /** One change at a time here; against other processes the document's version decides, and the loser looks again. */
  #change(change: Change): Promise<boolean> {
    checkRun(change.run);
    const made = this.#turn.then(() => this.#commit(change));
    this.#turn = made.catch(() => {}); // its caller has the rejection; the next change does not depend on it
    return made;
  }

  async #commit(change: Change): Promise<boolean> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const saved = this.#entry(change.run);
      const skills = change.next(saved.skills);
      if (skills === undefined) return false;
      if (await this.#written(change, skills, saved.version)) return true;
      await this.#reread(change.run);
    }
    throw new RuntimeFault(
      "skills_contended",
      "The run's skills are being changed by somebody else all the time; try again.",
    );
  }

  async #written(change: Change, skills: readonly ActiveSkill[], expectedVersion: number): Promise<boolean> {
    const { run } = change;
    const take = (): void => this.#set(run, entryOf(expectedVersion + 1, skills));
    if (this.#keeping === undefined) {
      take();
      return true;
    }
    const event = this.#event(change, this.#keeping);
    const body = bodyOf(run, skills);
    const write = { write: "document", kind, id: idOf(run), body, expectedVersion, event } as const;
    return (await commitAndTake(this.#keeping.store, write, "synced", take)).won;
  }

  async #reread(run: SkillRun): Promise<void> {
    const document = await this.#keeping?.store.documents.get(kind, idOf(run));
    this.#set(run, document === undefined ? nothing : entryOf(document.version, readBody(document.body).skills));
  }

  #event({ run, type, skill, by }: Change, { clock, policyVersion }: SkillKeeping): NotedEvent {
    const { name, version, digest, allowedTools } = skill;
    return {
      moment: "noted",
      at: clock.now(),
      type,
      summary: `skill ${name} ${type === "skill.activated" ? "is active" : "is no longer active"} in run ${run.runId}`,
      traceId: newTraceId(),
      tenant: run.tenant,
      ...(by !== undefined && ("agent" in by ? { principal: by } : { by: by.by, via: by.via })),
      policyVersion,
      outcome: "info",
      data: { run_id: run.runId, skill: name, version, digest, allowed_tools: allowedTools },
    };
  }

  #entry({ tenant, runId }: SkillRun): Entry {
    return this.#byTenant.get(tenant)?.get(runId) ?? nothing;
  }

  #set({ tenant, runId }: SkillRun, entry: Entry): void {
    const runs = this.#byTenant.get(tenant) ?? new Map<string, Entry>();
    this.#byTenant.set(tenant, runs.set(runId, entry));
  }
}

/** base ∩ union of the lists of those that have one (D3); the tools that find skills and tools stay. */
function entryOf(version: number, skills: readonly ActiveSkill[]): Entry {
  return { version, skills, facts: factsOf(skills) };
}

export function factsOf(skills: readonly Pick<ActiveSkill, "name" | "allowedTools">[]): ActiveSkills | undefined {
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

/** A run's id has no slash, so no two of them are the same. */
function idOf({ tenant, runId }: SkillRun): string {
  return `${tenant}/${runId}`;
}

function bodyOf({ tenant, runId }: SkillRun, skills: readonly ActiveSkill[]): JsonObject {
  return {
    tenant,
    run_id: runId,
    skills: skills.map(({ allowedTools, ...rest }) => ({ ...rest, allowed_tools: allowedTools })),
  };
}

function readBody(body: Json): { readonly run: SkillRun; readonly skills: readonly ActiveSkill[] } {
  if (!isJsonObject(body)) throw unreadable();
  const { tenant, run_id: runId, skills } = body;
  if (typeof tenant !== "string" || typeof runId !== "string" || !Array.isArray(skills)) throw unreadable();
  return { run: { tenant, runId }, skills: skills.map(readActive) };
}

function readActive(given: Json): ActiveSkill {
  if (!isJsonObject(given)) throw unreadable();
  const { name, version, digest, allowed_tools: tools } = given;
  if (typeof name !== "string" || typeof version !== "string" || typeof digest !== "string" || !isTexts(tools))
    throw unreadable();
  return { name, version, digest, allowedTools: tools };
}

function isTexts(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((one: Json) => typeof one === "string");
}

function unreadable(): RuntimeFault {
  return new RuntimeFault(
    "skills_unreadable",
    "What the store holds of a run's active skills is not what Postern writes.",
  );
}
