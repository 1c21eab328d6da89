/**
 * Puts the policy of a configuration in force while Postern runs, and says which other sections wait for a restart.
 *
 * Invariant: the whole configuration is checked first. If any part of it has a mistake, nothing changes.
 */
import { type Actor, canonical, defined, type Json, messageOf } from "@postern/core";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import type { PolicyApi } from "../runtime/api/policy-api.ts";
import type { PolicyActivated } from "../server/policy-reader.ts";
import type { ConfigData } from "./config-schema.ts";
import { asFault } from "./policy-text.ts";
import type { ReadConfig } from "./settings.ts";

/** The sections that decide about calls. They come into force together; every other one needs a restart. */
export const policySections = ["policy", "guardrails", "autonomy"] as const;

export interface PolicyInForceOptions {
  /** The configuration that this Postern was started with. */
  readonly started: ReadConfig;
  /** Reads the configuration as it is now, or with another text. @throws ConfigProblems */
  readonly read: (text?: string) => Promise<ReadConfig>;
  readonly policy: Pick<PolicyApi, "replace" | "compare">;
}

export interface ActivatedBy {
  readonly by: Actor;
  readonly reason?: string | undefined;
  /** The file, as people know it. */
  readonly source: string;
}

export class PolicyInForce {
  readonly #options: PolicyInForceOptions;
  #now: ReadConfig;

  constructor(options: PolicyInForceOptions) {
    this.#options = options;
    this.#now = options.started;
  }

  /** @throws RuntimeFault `policy_invalid` with every mistake, a line each */
  async check(text?: string): Promise<ReadConfig> {
    try {
      return await this.#options.read(text);
    } catch (error) {
      throw asFault(error);
    }
  }

  async activate(next: ReadConfig, { by, reason, source }: ActivatedBy): Promise<PolicyActivated> {
    const parts = this.#parts(next);
    const replaced = await this.#options.policy.replace(parts, by, { source, ...defined({ reason }) });
    this.#now = { ...next, guardrails: parts.guardrails };
    return { ...replaced, restart: changedSections(this.#options.started.sections, next.sections) };
  }

  /** How the configuration differs from what is in force, a sentence a change; or its mistakes. */
  async differs(): Promise<readonly string[]> {
    try {
      return (await this.#options.policy.compare(this.#parts(await this.check()))).changes;
    } catch (error) {
      return messageOf(error).split("\n");
    }
  }

  #parts(next: ReadConfig) {
    return { policy: next.policy, guardrails: sameGuardrails(this.#now, next), autonomy: next.autonomy };
  }
}

/** An unchanged guardrail stays the same object, so that it is no change. */
function sameGuardrails(before: ReadConfig, after: ReadConfig): readonly Guardrail[] {
  const known = new Map(listed(before).map((text, i) => [text, before.guardrails[i]]));
  const texts = listed(after);
  return after.guardrails.map((one, i) => known.get(texts[i] ?? "") ?? one);
}

function listed({ sections: { guardrails = [] } }: ReadConfig): readonly string[] {
  return guardrails.map((one) => canonical(asJson(one)));
}

/** In the order of the file that was started with, then new ones. */
function changedSections(before: ConfigData, after: ConfigData): readonly string[] {
  const [from, to] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = [...new Set([...from.keys(), ...to.keys()])].filter((name) => !isPolicySection(name));
  return names.filter((name) => canonical(asJson(from.get(name) ?? null)) !== canonical(asJson(to.get(name) ?? null)));
}

function isPolicySection(name: string): boolean {
  return name === "version" || policySections.some((one) => one === name);
}

/** A file of data has only JSON values. */
function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value));
}
