import type { Autonomy, Risk, Verdict } from "./call.ts";
import { RuntimeFault } from "./fault.ts";
import { shown } from "./shown.ts";

export const risks: readonly Risk[] = ["safe", "medium", "high", "critical"];
export const autonomies: readonly Autonomy[] = ["A0", "A1", "A2", "A3", "A4"];
/** Mildest first. A0's PREVIEW is stricter than CONFIRM, so no approval makes it run. */
export const verdicts: readonly Verdict[] = ["ALLOW", "CONFIRM", "PREVIEW", "BLOCK"];

const riskRanks: Readonly<Record<Risk, number>> = { safe: 0, medium: 1, high: 2, critical: 3 };
const verdictRanks: Readonly<Record<Verdict, number>> = { ALLOW: 0, CONFIRM: 1, PREVIEW: 2, BLOCK: 3 };

export function rankOf(risk: Risk): number {
  return riskRanks[risk];
}

/** @throws RuntimeFault `request_invalid` for a word that is not a level, which would otherwise match nothing */
export function requireRisk(text: unknown): Risk {
  const level = parseRisk(text);
  if (level !== undefined) return level;
  throw new RuntimeFault("request_invalid", `${shown(text)} is not a risk level; ${insteadOf(text)}.`);
}

/** What to write where a text is no level. `low` is refused because readers take it for more than `safe`. */
export function insteadOf(text: unknown): string {
  return text === "low" ? "write `safe` if it has no side effect, else `medium`" : `write one of ${risks.join(", ")}`;
}

export function parseRisk(text: unknown): Risk | undefined {
  return risks.find((risk) => risk === text);
}

/**
 * The risk up to which calls run without a person, if they need one from `required` on: `high` below critical, else `safe`.
 * Returns undefined for `safe`: no threshold asks before every call.
 */
export function thresholdBelow(required: Risk): Risk | undefined {
  if (required === "safe") return undefined;
  return required === "critical" ? "high" : "safe";
}

export function higherRisk(one: Risk, other: Risk): Risk {
  return riskRanks[one] >= riskRanks[other] ? one : other;
}

export function stricter(one: Verdict, other: Verdict): Verdict {
  return verdictRanks[one] >= verdictRanks[other] ? one : other;
}

/** The lower of two levels. An undefined level is ignored. */
export function lowerAutonomy(one: Autonomy | undefined, other: Autonomy | undefined): Autonomy | undefined {
  if (one === undefined) return other;
  if (other === undefined) return one;
  return one <= other ? one : other; // "A0" … "A4" are in order as text
}
