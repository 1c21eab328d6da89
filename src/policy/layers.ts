import type { Risk, Verdict } from "../calls/call.ts";
import type { Reason } from "../calls/event.ts";
import { parseRisk, rankOf, stricter } from "../calls/risk.ts";
import { cellOf, type Matrix } from "./matrix.ts";
import type { Permission } from "./permission.ts";
import type { Facts } from "./policy.ts";
import { lowerThreshold } from "./threshold.ts";

/** What a policy was made of, and who is asking. */
export interface Terms {
  readonly matrix: Matrix;
  /** Set explicitly; none: `safe`, and only where no autonomy level decides (SPEC 6.6). */
  readonly maxRiskUnapproved: Risk | undefined;
  readonly allowUnattendedCritical: boolean;
  readonly permission: Permission;
}

/** A decision while it is thought. It only grows stricter: there is no way to lower it. */
export class Draft {
  risk: Risk = "critical";
  verdict: Verdict = "ALLOW";
  denied = false;
  missingScope: string | undefined;
  readonly reasons: Reason[] = [];

  deny(...reasons: readonly Reason[]): void {
    this.denied = true;
    this.reasons.push(...reasons);
  }

  demand(verdict: Verdict, rule: string): void {
    this.verdict = stricter(this.verdict, verdict);
    this.reasons.push({ rule, says: verdict });
  }
}

/** One step of the thought. Pure over the facts; the draft is the only thing it changes. */
export type Layer = (facts: Facts, draft: Draft, terms: Terms) => void;

/** In this order, until one denies. None of them looks at arguments or history: decide.ts keeps what they answered. */
export const layers: readonly Layer[] = [
  weighRisk,
  weighPermission,
  weighScopes,
  weighLevel,
  weighThreshold,
  weighSecrets,
  weighConfirms,
];

/** First of all, since a denial states the risk as well. */
function weighRisk({ tool, suggestion }: Facts, draft: Draft): void {
  const base = parseRisk(tool.risk);
  const suggested = suggestion?.risk === undefined ? base : parseRisk(suggestion.risk);
  if (base === undefined || suggested === undefined) {
    draft.demand("BLOCK", `risk \`${String(base === undefined ? tool.risk : suggestion?.risk)}\` is unknown`);
    return;
  }
  // Only the author of a tool knows better than its own label; what an operator or our caution said, a suggestion cannot lower.
  const believed = tool.riskSource === "declared" || rankOf(suggested) > rankOf(base);
  draft.risk = believed ? suggested : base;
  if (!believed || suggested === base) return;
  const raises = rankOf(suggested) > rankOf(base);
  draft.reasons.push({
    rule: `risk ${suggested} of this call, says the tool (its own: ${base})`,
    says: raises ? "RAISE" : "ALLOW",
  });
}

function weighPermission(_facts: Facts, draft: Draft, { permission }: Terms): void {
  if (permission.allowed) draft.reasons.push(...permission.reasons);
  else draft.deny(...permission.reasons);
}

/** Least privilege at every autonomy level (SPEC 5.4). */
function weighScopes({ tool, scopes }: Facts, draft: Draft): void {
  const missing = missingScope(tool.scopes, scopes);
  if (missing === undefined) return;
  draft.missingScope = missing;
  draft.deny({ rule: `scope ${missing} missing`, says: "DENY" });
}

/** The first required scope that was not granted. */
export function missingScope(required: readonly string[], granted: readonly string[]): string | undefined {
  for (const scope of required) if (!granted.includes(scope)) return scope;
  return undefined;
}

function weighLevel({ autonomy }: Facts, draft: Draft, { matrix }: Terms): void {
  if (autonomy === undefined) return;
  draft.demand(cellOf(matrix, autonomy, draft.risk), `matrix ${autonomy}/${draft.risk}`);
}

/** Joins the matrix only where somebody set it; without a level it decides, and critical always asks (SPEC 6.6, C5). */
function weighThreshold({ autonomy, maxRiskUnapproved }: Facts, draft: Draft, terms: Terms): void {
  const own = maxRiskUnapproved === undefined ? undefined : parseRisk(maxRiskUnapproved);
  if (own === undefined && maxRiskUnapproved !== undefined) {
    draft.demand("BLOCK", `threshold \`${String(maxRiskUnapproved)}\` is unknown`);
    return;
  }
  const operators = terms.maxRiskUnapproved ?? (autonomy === undefined ? "safe" : undefined);
  const set = lowerThreshold(operators, own); // a session only narrows, also where nobody else set one (C19)
  if (set === undefined) return;
  const threshold = set === "critical" && !terms.allowUnattendedCritical ? "high" : set;
  draft.demand(rankOf(draft.risk) > rankOf(threshold) ? "CONFIRM" : "ALLOW", `threshold ${threshold}`);
}

/** Always on (D4): whoever touches secrets is asked about, also at A4; at A0 it is shown, not run (C28). */
function weighSecrets({ tool, autonomy }: Facts, draft: Draft): void {
  if (!tool.scopes.some((scope) => scope.startsWith("secrets:"))) return;
  draft.demand(autonomy === "A0" ? "PREVIEW" : "CONFIRM", "override secrets scope");
}

function weighConfirms(_facts: Facts, draft: Draft, { permission }: Terms): void {
  if (permission.confirms.length === 0) return;
  draft.verdict = stricter(draft.verdict, "CONFIRM");
  draft.reasons.push(...permission.confirms);
}
