import { autonomies, parseRisk, type Reason, type Risk, rankOf, risks, stricter, type Verdict } from "@postern/core";
import type { ExtraLayer, Facts, Finding } from "./policy.ts";
import type { Adjusters } from "./risk/adjusters.ts";
import { cellOf, type Matrix } from "./risk/matrix.ts";
import type { Pack } from "./risk/pack.ts";
import { lowerThreshold } from "./risk/threshold.ts";
import type { PermissionRule } from "./rules/permission.ts";
import { effectsOf } from "./rules/rules.ts";
import { skillsForbid } from "./rules/skill-layer.ts";

/** A compiled policy without its rules. */
export interface PolicyTerms {
  readonly matrix: Matrix;
  /** Left undefined, the threshold is `safe`, and only calls without an autonomy level use it. */
  readonly maxRiskUnapproved: Risk | undefined;
  readonly allowUnattendedCritical: boolean;
  readonly also: readonly ExtraLayer[];
  readonly adjusters: Adjusters;
  readonly pack: Pack;
}

/** The same with the rules that apply to one call. */
export interface DecisionTerms extends PolicyTerms {
  /** A rule of this tool reads arguments or the past. */
  readonly hasConditions: boolean;
  /** Rules may depend on the risk, so it must be known. */
  readonly permissionAt: (risk: Risk) => PermissionRule;
}

/**
 * A decision in the making. It only grows stricter: no method lowers it. `kept` and `keptDenied` are the part that mode
 * `observe` enforces too; the methods `…Always` set it.
 */
export class DecisionDraft {
  risk: Risk = "critical";
  /** The risk before any layer raised it. */
  base: Risk = "critical";
  verdict: Verdict = "ALLOW";
  denied = false;
  kept: Verdict = "ALLOW";
  keptDenied = false;
  missingScope: string | undefined;
  blockedBy: "antiflap" | "storm" | undefined;
  readonly reasons: Reason[] = [];

  deny(...reasons: readonly Reason[]): void {
    this.denied = true;
    this.reasons.push(...reasons);
  }

  denyAlways(...reasons: readonly Reason[]): void {
    this.keptDenied = true;
    this.deny(...reasons);
  }

  demand(verdict: Verdict, rule: string): void {
    this.verdict = stricter(this.verdict, verdict);
    this.reasons.push({ rule, effect: verdict });
  }

  demandAlways(verdict: Verdict, rule: string): void {
    this.kept = stricter(this.kept, verdict);
    this.demand(verdict, rule);
  }

  /** Raises one level, at most to critical. It has an effect only before the matrix decides. */
  raise(rule: string): void {
    this.risk = risks[Math.min(rankOf(this.risk) + 1, risks.length - 1)] ?? "critical";
    this.reasons.push({ rule, effect: "RAISE" });
  }

  /** Adds the finding of a guardrail or of a layer from outside. */
  take({ guardrail, effect, why }: Finding): void {
    const rule = `${guardrail}: ${why}`;
    if (effect === "DENY") this.deny({ rule, effect });
    else if (effect === "CONFIRM") this.demand("CONFIRM", rule);
    else if (effect === "RAISE") this.raise(rule);
    else throw new TypeError(`\`${guardrail}\` says \`${String(effect)}\``);
  }
}

/** One step of a decision. It is pure over the facts and changes only the draft. */
export type Layer = (facts: Facts, draft: DecisionDraft, terms: DecisionTerms) => void;

/** In this order, until one denies. */
export const layers: readonly Layer[] = [
  // The risk of this call. All layers that raise it come before the layers that read it.
  weighRisk,
  weighAdjusters,
  weighAlso,
  weighFindings,
  weighQuietHours,
  // Is it allowed? Runtime and sandbox, safe defaults, active skills, configuration, scopes.
  weighRuntime,
  weighDefaults,
  weighSkills,
  weighRules,
  weighScopes,
  // Does it need a person? Each layer asks or blocks independently of the others.
  weighLevel,
  weighThreshold,
  weighDestructive,
  weighAlwaysAsks,
  weighUnread,
  weighPack,
  weighConfirms,
];

/** The first layer, because a denial states the risk too. */
function weighRisk({ tool, suggestion }: Facts, draft: DecisionDraft): void {
  const base = parseRisk(tool.risk);
  const suggested = suggestion?.risk === undefined ? base : parseRisk(suggestion.risk);
  if (base === undefined || suggested === undefined) {
    draft.demandAlways("BLOCK", `risk \`${String(base === undefined ? tool.risk : suggestion?.risk)}\` is unknown`);
    return;
  }
  draft.risk = believedRisk(tool, base, suggested);
  draft.base = draft.risk;
  if (draft.risk === base) return;
  const effect = rankOf(suggested) > rankOf(base) ? "RAISE" : "ALLOW";
  draft.reasons.push({ rule: `risk ${suggested} of this call, says the tool (its own: ${base})`, effect });
}

/** A suggestion may lower only a risk that the tool's author declared, not one of an operator, a default or a guess. */
export function believedRisk({ riskSource }: Facts["tool"], base: Risk, suggested: Risk): Risk {
  return riskSource === "declared" || rankOf(suggested) > rankOf(base) ? suggested : base;
}

function weighAdjusters(facts: Facts, draft: DecisionDraft, { adjusters }: DecisionTerms): void {
  const ofTool = adjusters.ofTool(facts.tool);
  if (ofTool !== undefined) draft.raise(ofTool);
  for (const raise of adjusters.ofCall) {
    const why = raise(facts);
    if (why !== undefined) draft.raise(why);
  }
}

/** Layers from outside. Anything but a list of findings, for example a promise, is a fault. */
function weighAlso(facts: Facts, draft: DecisionDraft, { also }: DecisionTerms): void {
  for (const layer of also) {
    const findings = layer.weigh(facts);
    if (!Array.isArray(findings)) throw new TypeError(`The layer \`${layer.name}\` gave no list of findings.`);
    for (const finding of findings) draft.take(finding);
  }
}

/** Findings of guardrails about the arguments. The failure of an `open` guardrail becomes a reason too. */
function weighFindings({ findings = [] }: Facts, draft: DecisionDraft): void {
  for (const finding of findings) {
    if (finding.effect !== "ALLOW") draft.take({ ...finding, guardrail: `guardrail ${finding.guardrail}` });
    else draft.reasons.push({ rule: `guardrail ${finding.guardrail}: ${finding.why}`, effect: "ALLOW" });
  }
}

/** Reading is allowed in quiet hours. Whether to ask depends on the risk before the quiet hours raise it. */
function weighQuietHours({ tool, now }: Facts, draft: DecisionDraft, { pack }: DecisionTerms): void {
  if (pack.isQuiet === undefined || tool.effects === "read" || !pack.isQuiet(now)) return;
  if (draft.risk !== "safe") draft.demand("CONFIRM", pack.quietRule);
  draft.raise("adjuster quiet hours");
}

/** The runtime and the sandbox always win. */
function weighRuntime(_facts: Facts, draft: DecisionDraft, { permissionAt }: DecisionTerms): void {
  const { overruled } = permissionAt(draft.risk);
  if (overruled.length > 0) draft.denyAlways(...overruled);
}

/** A raise permits nothing: a call that is refused at its base risk stays refused, even if a `confirm` fits the raised risk. */
function raisedOr({ risk, base }: DecisionDraft, refusedAt: (risk: Risk) => readonly Reason[]): readonly Reason[] {
  const refused = refusedAt(risk);
  return refused.length > 0 || base === risk ? refused : refusedAt(base);
}

/** Tools that are off until a rule names them. */
function weighDefaults(_facts: Facts, draft: DecisionDraft, { permissionAt }: DecisionTerms): void {
  const off = raisedOr(draft, (risk) => permissionAt(risk).off);
  if (off.length > 0) draft.denyAlways(...off);
}

/** Active skills restrict. What they allow grants nothing. */
function weighSkills({ tool, skills }: Facts, draft: DecisionDraft): void {
  const forbidding = skills && skillsForbid(skills, tool);
  if (forbidding === undefined) return;
  const names = forbidding.map((name) => `\`${name}\``).join(", ");
  draft.denyAlways({ rule: `skill ${names}: \`${tool.tool}\` is not among the allowed tools`, effect: "DENY" });
}

function weighRules(_facts: Facts, draft: DecisionDraft, { permissionAt }: DecisionTerms): void {
  const denied = raisedOr(draft, (risk) => permissionAt(risk).denied);
  const { granted } = permissionAt(draft.risk);
  if (denied.length > 0) draft.deny(...denied);
  else draft.reasons.push(...granted);
}

/** Least privilege at every autonomy level. */
function weighScopes({ tool, scopes }: Facts, draft: DecisionDraft): void {
  const missing = missingScope(tool.scopes, scopes);
  if (missing === undefined) return;
  draft.missingScope = missing;
  draft.denyAlways({ rule: `scope ${missing} missing`, effect: "DENY" });
}

/** The first required scope that was not granted. */
export function missingScope(required: readonly string[], granted: readonly string[]): string | undefined {
  for (const scope of required) if (!granted.includes(scope)) return scope;
  return undefined;
}

function weighLevel({ autonomy }: Facts, draft: DecisionDraft, { matrix }: DecisionTerms): void {
  if (autonomy === undefined) return;
  let verdict = cellOf(matrix, autonomy, draft.risk);
  // A raise never makes the verdict milder, even if a configured matrix is stricter at a lower risk.
  for (let rank = rankOf(draft.base); rank < rankOf(draft.risk); rank += 1)
    verdict = stricter(verdict, cellOf(matrix, autonomy, risks[rank] ?? "critical"));
  const rule = `matrix ${autonomy}/${draft.risk}`;
  // An operator relies on A0, and an unknown level is not trusted: both hold in mode `observe` too.
  if (autonomy === "A0" || !autonomies.includes(autonomy)) draft.demandAlways(verdict, rule);
  else draft.demand(verdict, rule);
}

/** Joins the matrix only if an operator or a session set it. Without a level it decides, and critical always asks. */
function weighThreshold({ autonomy, maxRiskUnapproved }: Facts, draft: DecisionDraft, terms: DecisionTerms): void {
  const own = maxRiskUnapproved === undefined ? undefined : parseRisk(maxRiskUnapproved);
  if (own === undefined && maxRiskUnapproved !== undefined) {
    draft.demandAlways("BLOCK", `threshold \`${String(maxRiskUnapproved)}\` is unknown`);
    return;
  }
  const operators = terms.maxRiskUnapproved ?? (autonomy === undefined ? "safe" : undefined);
  const set = lowerThreshold(operators, own); // a session only narrows
  if (set === undefined) return;
  const threshold = set === "critical" && !terms.allowUnattendedCritical ? "high" : set;
  draft.demand(rankOf(draft.risk) > rankOf(threshold) ? "CONFIRM" : "ALLOW", `threshold ${threshold}`);
}

/** Without an autonomy level, a destructive call asks a person, even if a rule enables the tool. */
function weighDestructive({ tool, autonomy }: Facts, draft: DecisionDraft): void {
  if (autonomy === undefined && effectsOf(tool) === "destructive")
    draft.demandAlways("CONFIRM", "default: destructive asks");
}

/** These ask at every level, also at A4: a tool that touches secrets, and a tool that asks for a person itself. */
function weighAlwaysAsks({ tool, suggestion, autonomy }: Facts, draft: DecisionDraft): void {
  const verdict = autonomy === "A0" ? "PREVIEW" : "CONFIRM";
  const scope = tool.scopes.find((one) => one.startsWith("secrets:"));
  if (scope !== undefined) draft.demandAlways(verdict, `override secrets scope \`${scope}\``);
  const why = suggestion?.confirm;
  if (why !== undefined) draft.demandAlways(verdict, `the tool asks for a person: ${why}`);
}

/** A safe tool that only reads may run if no rule, adjuster or guardrail would have read the arguments. */
function weighUnread({ tool, unread }: Facts, draft: DecisionDraft, { also, hasConditions }: DecisionTerms): void {
  if (unread === undefined) return;
  const isHarmless = tool.effects === "read" && draft.risk === "safe";
  if (isHarmless && !unread.wouldBeRead && !hasConditions && also.length === 0) return;
  draft.demand("CONFIRM", `arguments too large to look at: ${unread.what.join(", ")}`);
}

/** Anti-flap and notification storm. `blockedBy` is set only if nothing else blocks, because such a block passes with time. */
function weighPack(facts: Facts, draft: DecisionDraft, { pack }: DecisionTerms): void {
  for (const judge of pack.blocks) {
    const block = judge(facts);
    if (block === undefined) continue;
    if (draft.verdict !== "BLOCK") draft.blockedBy = block.by;
    draft.demand("BLOCK", block.rule);
  }
}

function weighConfirms(_facts: Facts, draft: DecisionDraft, { permissionAt }: DecisionTerms): void {
  const { confirms, runtimeConfirms } = permissionAt(draft.risk);
  if (runtimeConfirms.length > 0) draft.kept = stricter(draft.kept, "CONFIRM");
  if (runtimeConfirms.length + confirms.length === 0) return;
  draft.verdict = stricter(draft.verdict, "CONFIRM");
  draft.reasons.push(...runtimeConfirms, ...confirms);
}
