import { type Clock, copyOf, messageOf, type ToolCall } from "@postern/core";
import type { CurrentPolicy } from "../../policy/current-policy.ts";
import {
  type ArgumentGuardrail,
  type GuardedCall,
  type Guardrail,
  type GuardrailFinding,
  textIn,
} from "../../policy/guardrails/guardrails.ts";
import type { Finding, OpenFailure } from "../../policy/policy.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import { type LazySignal, type Ran, runForeign } from "../../tools/run-foreign.ts";
import type { FoundCall, ValidCall } from "./stages.ts";

export interface GuardrailParts {
  readonly policy: CurrentPolicy;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: (problem: string, call?: ToolCall) => void;
}

/** The call with what the guardrails found in its arguments, for the policy. */
export async function guardArguments(
  call: ValidCall,
  guards: readonly ArgumentGuardrail[],
  parts: GuardrailParts,
): Promise<ValidCall> {
  const given = call.resolved?.arguments ?? call.arguments;
  const text = textIn(given);
  const asked = guards.map((guard) => {
    const subject = { ...guardedCall(call), arguments: copyOf(given), text }; // each gets a copy, because a guardrail may change it
    return askGuardrail(guard, (lazy) => guard.check(subject, lazy), parts);
  });
  const findings = (await Promise.all(asked)).flatMap((answer) => findingsOf(answer, call, parts));
  return { ...call, findings };
}

function findingsOf(answer: GuardrailRun, call: ToolCall, parts: GuardrailParts): readonly (Finding | OpenFailure)[] {
  const { guardrail, found, failure, open } = answer;
  if (failure === undefined)
    return found.map(({ effect, why }) => ({ guardrail, effect: effect as Finding["effect"], why })); // `askGuardrail` has checked it
  logFailure(answer, call, parts);
  return [{ guardrail, effect: open ? "ALLOW" : "DENY", why: failure }];
}

export function logFailure({ guardrail, failure }: GuardrailRun, call: ToolCall, { log }: GuardrailParts): void {
  log(`The guardrail \`${guardrail}\` ${failure}, for the call \`${call.id}\` of \`${call.tool}\`.`, call);
}

/** The findings of one guardrail, or its failure. */
export interface GuardrailRun {
  readonly guardrail: string;
  readonly open: boolean;
  readonly found: readonly GuardrailFinding<string>[];
  /** `failed: …, and is open`. */
  readonly failure: string | undefined;
}

const timeoutMs = 1_000;
const longestWhy = 300;
const words: Readonly<Record<Guardrail["on"], readonly unknown[]>> = {
  arguments: ["DENY", "CONFIRM", "RAISE"],
  result: ["WITHHOLD", "MARK"],
};

/** Never throws: a guardrail that throws has failed. */
export async function askGuardrail(
  guard: Guardrail,
  check: (lazy: LazySignal) => unknown,
  parts: GuardrailParts,
): Promise<GuardrailRun> {
  const { clock } = parts;
  const limitMs = guard.timeoutMs ?? timeoutMs;
  return readAnswer(guard, await runForeign<unknown>(check, { clock, limitMs }), parts);
}

function readAnswer(
  { name: guardrail, on, onFailure, timeoutMs: own }: Guardrail,
  ran: Ran<unknown>,
  parts: GuardrailParts,
): GuardrailRun {
  const open = onFailure === "open";
  const cleaned = (why: string): string => shortened(parts.redactor.redact(why));
  const failed = (why: string): GuardrailRun => {
    const failure = `${why}, and is ${open ? "open" : "closed"}`;
    return { guardrail, open, found: [], failure };
  };
  if (ran.ran === "threw") return failed(`failed: ${cleaned(messageOf(ran.error))}`);
  if (ran.ran !== "returned") return failed(`failed: no answer within ${own ?? timeoutMs} ms`);
  const found = readFindings(ran.value, words[on]);
  if (found === undefined) return failed("failed: its answer is not a list of findings");
  return {
    guardrail,
    open,
    found: found.map(({ effect, why }) => ({ effect, why: cleaned(why) })),
    failure: undefined,
  };
}

/** Returns undefined if it is not a list of findings, or cannot be read. */
function readFindings(value: unknown, allowed: readonly unknown[]): readonly GuardrailFinding<string>[] | undefined {
  try {
    if (!Array.isArray(value)) return undefined;
    const found: GuardrailFinding<string>[] = [];
    for (const one of value as readonly unknown[]) {
      const { effect, why } = Object(one) as { readonly effect: unknown; readonly why: unknown };
      if (!allowed.includes(effect) || typeof effect !== "string" || typeof why !== "string") return undefined;
      found.push({ effect, why });
    }
    return found;
  } catch {
    return undefined;
  }
}

function shortened(why: string): string {
  return why.length > longestWhy ? `${why.slice(0, longestWhy - 1).toWellFormed()}…` : why;
}

export function guardedCall({ authority, found }: FoundCall): GuardedCall {
  const { tool, action, server, effects, openWorld = false } = found.facts;
  return {
    ...{ tool, action, effects, openWorld },
    ...(server !== undefined && { server }),
    principal: { ...authority.principal }, // a copy: a guardrail may change it
    runId: authority.runId,
  };
}
