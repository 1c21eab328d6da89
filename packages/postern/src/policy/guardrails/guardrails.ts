/**
 * Guardrails examine the arguments of a call before the decision, and its result before the caller receives it. This is the
 * port.
 *
 * Invariant: a guardrail only makes a decision stricter. Its own failure (a throw, no answer in time, an invalid answer)
 * counts as a finding if it is `closed`, and is only reported and logged if it is `open`.
 * Next: text-guardrail.ts, prompt-injection.ts, personal-data.ts (built in), pipeline/gates/guardrails.ts (where they run).
 */
import { isJsonObject, type Json, type JsonObject, type Principal, RuntimeFault } from "@postern/core";
import { checkOptionsBy } from "../../checks/schema-problems.ts";
import { functionIn, lazySchema, objectIn } from "../../checks/zod.ts";
import type { ToolFacts } from "../policy.ts";
import { globMatcher } from "../rules/glob.ts";

/** The call that a guardrail examines. */
export interface GuardedCall {
  readonly tool: string;
  readonly action: string;
  readonly server?: string;
  readonly effects: ToolFacts["effects"];
  /** Its results may come from outside. */
  readonly openWorld: boolean;
  readonly principal: Principal;
  readonly runId: string;
}

export interface GuardedArguments extends GuardedCall {
  readonly arguments: JsonObject;
  /** All texts and numbers in them, one a line, names included. */
  readonly text: string;
}

/** Secrets are redacted. */
export interface GuardedResult extends GuardedCall {
  readonly isError: boolean;
  readonly structured?: Json;
  /** All text in it, one a line: of its blocks and their bytes, of artifacts in it, and of its structured content. */
  readonly text: string;
}

/** `why` is shown to people and models. Say what was found, but do not repeat it. */
export interface GuardrailFinding<GuardrailEffect extends string> {
  readonly effect: GuardrailEffect;
  readonly why: string;
}
export type ArgumentEffect = "DENY" | "CONFIRM" | "RAISE";
export type ResultEffect = "WITHHOLD" | "MARK";

interface GuardrailSettings {
  readonly name: string;
  /** What its own failure means. `closed` (default): the strictest finding. `open`: the call continues. */
  readonly onFailure?: "open" | "closed";
  /** Milliseconds. Default 1000. */
  readonly timeoutMs?: number;
  /** The tools that it examines, for reports. The guardrail itself decides which calls it examines. */
  readonly tools?: readonly string[];
  /** Awaited once, before any call. */
  ready?(): Promise<void>;
}

export interface ArgumentGuardrail extends GuardrailSettings {
  readonly on: "arguments";
  check(subject: GuardedArguments, context: { readonly signal: AbortSignal }): GuardrailAnswer<ArgumentEffect>;
}

/** `WITHHOLD`: the caller gets a refusal instead of the result. `MARK`: the finding is reported and taints the run. */
export interface ResultGuardrail extends GuardrailSettings {
  readonly on: "result";
  check(subject: GuardedResult, context: { readonly signal: AbortSignal }): GuardrailAnswer<ResultEffect>;
}

type GuardrailAnswer<GuardrailEffect extends string> =
  | readonly GuardrailFinding<GuardrailEffect>[]
  | Promise<readonly GuardrailFinding<GuardrailEffect>[]>;

/**
 * Examines every call: patterns, a classifier, a service of yours.
 *
 * @example
 * const noRivals: Guardrail = {
 *   name: "rivals", on: "arguments", onFailure: "open",
 *   check: ({ text }) => (text.includes("rival.example") ? [{ effect: "CONFIRM", why: "it names a rival" }] : []),
 * };
 *
 * @public
 */
export type Guardrail = ArgumentGuardrail | ResultGuardrail;

/** By what they examine. */
export interface Guardrails {
  readonly onArguments: readonly ArgumentGuardrail[];
  readonly onResults: readonly ResultGuardrail[];
}

export const namePattern: RegExp = /^[\w.-]{1,64}$/;
export const nameRule = "Use 1 to 64 letters, digits, _, . and -.";

const listSchema = lazySchema((zod) => {
  const guardrail = objectIn<Guardrail>(zod, {
    name: zod.string().regex(namePattern, nameRule),
    on: zod.enum(["arguments", "result"]),
    check: functionIn(zod),
    onFailure: zod.enum(["open", "closed"]).optional(),
    timeoutMs: zod.number().positive().optional(),
    tools: zod.array(zod.string()).optional(),
    ready: functionIn(zod).optional(),
  });
  return zod.object({ guardrails: zod.array(guardrail) });
});

/**
 * Returns undefined if the list is empty.
 *
 * @throws RuntimeFault `options_invalid` with the guardrail and the problem; what a `ready` throws
 */
export async function openGuardrails(given: readonly Guardrail[]): Promise<Guardrails | undefined> {
  checkOptionsBy(listSchema(), { guardrails: given });
  const names = new Set<string>();
  for (const { on, name } of given) {
    if (names.has(`${on} ${name}`)) throw invalid(`Two guardrails on ${on} are called \`${name}\`; rename one.`);
    names.add(`${on} ${name}`);
  }
  for (const one of given) await one.ready?.();
  if (given.length === 0) return undefined;
  return {
    onArguments: given.filter((one) => one.on === "arguments"),
    onResults: given.filter((one) => one.on === "result"),
  };
}

export function invalid(message: string): RuntimeFault {
  return new RuntimeFault("options_invalid", message);
}

/** Whether the guardrail is for the tool, as far as it says for which tools it is. */
export function coversTool({ tools }: Pick<Guardrail, "tools">, tool: string): boolean {
  return tools === undefined || tools.some((pattern) => globMatcher(pattern)(tool));
}

/** Every text and number in a value, one a line, so patterns see words without JSON escapes. */
export function textIn(value: Json): string {
  const lines: string[] = [];
  collect(value, lines);
  return lines.join("\n");
}

/** The depth was bounded when the value was read (`maxDepth`). */
function collect(value: Json, lines: string[]): void {
  if (typeof value === "string" || typeof value === "number") lines.push(String(value));
  else if (Array.isArray(value)) for (const inner of value as readonly Json[]) collect(inner, lines);
  else if (isJsonObject(value))
    for (const [name, inner] of Object.entries(value)) {
      lines.push(name);
      collect(inner, lines);
    }
}
