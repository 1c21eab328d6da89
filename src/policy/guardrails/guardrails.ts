/**
 * Guardrails (D30): whoever embeds Postern looks at the arguments of a call before it is decided, and at its result before
 * it goes back. This is the port, and what a list of them becomes.
 *
 * Invariant: a guardrail only makes things stricter. Its own failure (a throw, no answer in time, an answer that is none)
 * counts as a finding where it is `closed`, and is told and logged where it is `open`.
 * Next: text-guardrail.ts, prompt-injection.ts, personal-data.ts (built in), pipeline/gates/guardrails.ts (where they are run).
 */
import type { Principal } from "../../core/call.ts";
import { RuntimeFault } from "../../core/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import type { ToolFacts } from "../policy.ts";

/** The call a guardrail looks at. */
export interface GuardedCall {
  readonly tool: string;
  readonly action: string;
  readonly server?: string;
  readonly effects: ToolFacts["effects"];
  /** Its results may carry strangers' words. */
  readonly openWorld: boolean;
  readonly principal: Principal;
  readonly runId: string;
}

export interface GuardedArguments extends GuardedCall {
  readonly arguments: JsonObject;
  /** All texts and numbers in them, one a line, names included. */
  readonly text: string;
}

/** Redacted: what is a secret here is no guardrail's business. */
export interface GuardedResult extends GuardedCall {
  readonly isError: boolean;
  readonly structured?: Json;
  /** All text in it: of its blocks, and of its structured content, one a line. */
  readonly text: string;
}

/** `why` is shown to people and models: say what was found, do not repeat it. */
export interface GuardrailFinding<Says extends string> {
  readonly says: Says;
  readonly why: string;
}
export type ArgumentSays = "DENY" | "CONFIRM" | "RAISE";
export type ResultSays = "WITHHOLD" | "MARK";

interface GuardrailSettings {
  readonly name: string;
  /** What its own failure means. `closed` (default): as if it had found the worst. `open`: the call goes on. */
  readonly onFailure?: "open" | "closed";
  /** Milliseconds. Default 1000. */
  readonly timeoutMs?: number;
  /** The tools that it looks at, for reports; it decides by itself which calls it looks at. */
  readonly tools?: readonly string[];
  /** Awaited once, before any call. */
  ready?(): Promise<void>;
}

export interface ArgumentGuardrail extends GuardrailSettings {
  readonly on: "arguments";
  check(subject: GuardedArguments, context: { readonly signal: AbortSignal }): GuardrailAnswer<ArgumentSays>;
}

/** `WITHHOLD`: the caller gets a refusal in the place of the result. `MARK`: it is told, and taints the run. */
export interface ResultGuardrail extends GuardrailSettings {
  readonly on: "result";
  check(subject: GuardedResult, context: { readonly signal: AbortSignal }): GuardrailAnswer<ResultSays>;
}

type GuardrailAnswer<Says extends string> =
  | readonly GuardrailFinding<Says>[]
  | Promise<readonly GuardrailFinding<Says>[]>;

/**
 * One look at every call: patterns, a classifier, a service of yours.
 *
 * @example
 * const noRivals: Guardrail = {
 *   name: "rivals", on: "arguments", onFailure: "open",
 *   check: ({ text }) => (text.includes("rival.example") ? [{ says: "CONFIRM", why: "it names a rival" }] : []),
 * };
 *
 * @public
 */
export type Guardrail = ArgumentGuardrail | ResultGuardrail;

/** By what they look at. */
export interface Guardrails {
  readonly onArguments: readonly ArgumentGuardrail[];
  readonly onResults: readonly ResultGuardrail[];
}

/**
 * Undefined: there are none, and the path is as if there were no such thing.
 *
 * @throws RuntimeFault `guardrail_invalid`, naming which and what is wrong; what a `ready` throws
 */
export async function openGuardrails(given: readonly Guardrail[]): Promise<Guardrails | undefined> {
  if (!Array.isArray(given)) throw invalid("`guardrails` is not a list.");
  const names = new Set<string>();
  for (const [i, one] of (given as readonly Guardrail[]).entries()) {
    checkGuardrail(one, `guardrail #${i + 1}`);
    if (names.has(`${one.on} ${one.name}`))
      throw invalid(`Two guardrails on ${one.on} are called \`${one.name}\`; rename one.`);
    names.add(`${one.on} ${one.name}`);
  }
  for (const one of given as readonly Guardrail[]) await one.ready?.();
  if (given.length === 0) return undefined;
  return {
    onArguments: (given as readonly Guardrail[]).filter((one) => one.on === "arguments"),
    onResults: (given as readonly Guardrail[]).filter((one) => one.on === "result"),
  };
}

function checkGuardrail(one: Guardrail, at: string): void {
  if (typeof one !== "object" || one === null) throw invalid(`The ${at} is no object.`);
  const { name, on, onFailure, timeoutMs, check } = one as Readonly<Record<keyof Guardrail, unknown>>;
  if (typeof name !== "string" || !/^[\w.-]{1,64}$/.test(name))
    throw invalid(`The name of ${at} is \`${String(name)}\`; it is 1 to 64 letters, digits, \`_\`, \`.\` and \`-\`.`);
  const whose = `guardrail \`${name}\``;
  if (on !== "arguments" && on !== "result")
    throw invalid(`\`on\` of ${whose} is \`${String(on)}\`; it is arguments or result.`);
  if (typeof check !== "function") throw invalid(`The ${whose} has no \`check\`.`);
  if (onFailure !== undefined && onFailure !== "open" && onFailure !== "closed")
    throw invalid(`\`onFailure\` of ${whose} is \`${String(onFailure)}\`; it is open or closed.`);
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && (timeoutMs as number) > 0))
    throw invalid(`\`timeoutMs\` of ${whose} is \`${String(timeoutMs)}\`; it is a number of milliseconds above 0.`);
}

export function invalid(message: string): RuntimeFault {
  return new RuntimeFault("guardrail_invalid", message);
}

/** Every text and number in a value, one a line: patterns see words as they were written, not their JSON escapes. */
export function textIn(value: Json): string {
  const lines: string[] = [];
  collect(value, lines);
  return lines.join("\n");
}

/** Depth is bounded where the value was read (`maxDepth`). */
function collect(value: Json, lines: string[]): void {
  if (typeof value === "string" || typeof value === "number") lines.push(String(value));
  else if (Array.isArray(value)) for (const inner of value as readonly Json[]) collect(inner, lines);
  else if (isJsonObject(value))
    for (const [name, inner] of Object.entries(value)) {
      lines.push(name);
      collect(inner, lines);
    }
}
