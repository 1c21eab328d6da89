import { type Skill, type Skills, unknownToolWarnings } from "../../builtin/skills/skills.ts";
import { readArtifactName } from "../../core/artifact.ts";
import { opaqueFields, toSnakeCase } from "../../core/case.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Preview, ToolOutcome } from "../../core/outcome.ts";
import type { CallRecord } from "../../core/records.ts";
import type { Decision } from "../../policy/policy.ts";
import { readableOutcome } from "../../results/readable.ts";
import { howToApprove, openRequestOf, renderOutcome } from "../../results/render.ts";
import type { Explanation } from "../../runtime/api.ts";
import type { ToolBlock } from "../../tools/registered.ts";
import type { Offer, ToolHealth } from "../../tools/tool.ts";
import type { call as callSchema } from "./calls.ts";
import { iso } from "./fields.ts";
import { outcome as outcomeSchema, type preview as previewSchema } from "./outcome.ts";
import type { decision as decisionSchema, explanation as explanationSchema } from "./policy.ts";
import { type Input, type Source, toContractNames } from "./route.ts";
import type { skillList as skillListSchema } from "./skills.ts";
import type { tool as toolSchema } from "./tools.ts";

export const blockData = ["annotations", "meta", "resource_meta", "icons"] as const;
const blockOpaque = opaqueFields(blockData);

/** Text and content are what a model reads; the rest is the outcome itself. `tool`: as the caller named it. */
export function outcomeToWire(recorded: ToolOutcome, tool: string): Input<typeof outcomeSchema> {
  const outcome = readableOutcome(recorded); // an outcome on record is as the tool answered it
  const open = openRequestOf(outcome);
  const { text, content } = renderOutcome(outcome, { tool, readOn, isProgram: true });
  return toContractNames(outcomeSchema, {
    ...outcome,
    text,
    content: content.map((block) => toSnakeCase(block, blockOpaque) as JsonObject), // a block is plain JSON
    preview: outcome.preview && previewToWire(outcome.preview),
    approvalId: open?.id ?? outcome.approvalId,
    expiresAt: open?.expiresAt ?? (outcome.expiresAt && iso(outcome.expiresAt)),
    howToApprove: open && howToApprove(),
  });
}

function readOn(digest: string, fromByte: number): string {
  return `call \`${readArtifactName}\` with {"artifact": "${digest}", "offset": ${fromByte}}, or get /v1/artifacts/${digest}`;
}

export function previewToWire(preview: Preview): Input<typeof previewSchema> {
  const { table, message, diff } = preview;
  const kind = table !== undefined ? "table" : message !== undefined ? "message" : diff !== undefined ? "diff" : "text";
  return { kind, ...preview };
}

export function callToWire({ call, risk, outcome, ...record }: CallRecord): Source<typeof callSchema> {
  const { authority } = call;
  return {
    ...record,
    ...authority,
    ...call,
    callId: call.id,
    argumentsDigest: call.digest,
    requestedBy: authority.principal,
    autonomyLevel: authority.autonomy,
    riskLevel: risk,
    outcome: outcome && outcomeToWire(outcome, call.tool),
  };
}

export function toolToWire(
  { name, facts, ...offer }: Offer,
  now: {
    readonly health?: ToolHealth | undefined;
    readonly unavailable?: string | undefined;
    readonly blocked?: ToolBlock["why"] | undefined;
  } = {},
): Source<typeof toolSchema> {
  return { ...offer, ...facts, action: name, openWorld: facts.openWorld === true, ...now };
}

/** @param isForPerson also what people remembered and why it no longer counts; an agent learns only the verdict */
export function explanationToWire(explanation: Explanation, isForPerson = true): Source<typeof explanationSchema> {
  const { edited, weighed } = explanation.recorded ?? {};
  const recorded = explanation.recorded && {
    edited: edited && { askedDigest: edited.asked, digest: edited.runs },
    weighed: weighed && { ...weighed, grantId: weighed.grant },
  };
  if (explanation.reached === "refused") {
    const { refusal, decision } = explanation;
    return { reached: "refused", recorded, refusal, decision: decision && decisionToWire(decision) };
  }
  const { decision, counting, facts, summary } = explanation;
  const shown = decisionToWire(isForPerson ? decision : { ...decision, reasons: counting });
  return { reached: "verdict", recorded, decision: shown, facts, summary };
}

export function decisionToWire(decision: Decision): Source<typeof decisionSchema> {
  return { ...decision, grantId: decision.grant };
}

/** All that an operator may want to know of skills, without their instructions. */
export function skillsToWire(skills: Skills | undefined): Source<typeof skillListSchema> {
  if (skills === undefined) return { skills: [], refused: [], notes: [] };
  const { refused, notes } = skills;
  return { skills: skills.list().map((skill) => skillToWire(skill, skills.unknownTools(skill))), refused, notes };
}

function skillToWire(skill: Skill, unknown: readonly string[]): Source<typeof skillListSchema>["skills"][number] {
  return { ...skill, warnings: [...skill.warnings, ...unknownToolWarnings(skill, unknown)] };
}
