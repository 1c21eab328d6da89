import { parseRisk, risks } from "../../calls/risk.ts";
import { fieldsOf, invalid } from "../checking.ts";
import type { Origin } from "./rules.ts";

const effects: readonly unknown[] = ["allow", "confirm", "deny"];
const toolEffects: readonly unknown[] = ["read", "write", "destructive"];
const selectors: readonly string[] = ["tool", "action", "server", "scope"];
const notes: readonly string[] = ["id", "reason", "where"];
const principalFields: readonly string[] = ["tenant", "agent", "user"];
const others: readonly string[] = ["risk", "effects", "principal", "arguments", "target", "history"];

/**
 * A field that is misspelled would make its rule wider than it reads, so strangers are refused.
 *
 * @throws RuntimeFault `policy_invalid`
 */
export function checkRule(rule: unknown, at: string, origin: Origin): void {
  const fields = fieldsOf(rule, at);
  const effect = fields.find(([name]) => name === "effect")?.[1];
  if (effect === undefined) throw invalid(`The ${at} has no effect; it is one of ${effects.join(", ")}.`);
  if (!effects.includes(effect))
    throw invalid(`The effect of ${at} is \`${String(effect)}\`; it is one of ${effects.join(", ")}.`);
  if (origin !== "config" && effect === "allow")
    throw invalid(`The effect of ${at} is \`allow\`; the ${origin} only denies or asks.`);
  for (const [name, value] of fields) checkField(name, value, at);
}

function checkField(name: string, value: unknown, at: string): void {
  const place = `\`${name}\` of ${at}`;
  if (name === "principal") checkPrincipal(value, at);
  else if (name === "risk") {
    if (parseRisk(value) === undefined)
      throw invalid(`${place} is \`${String(value)}\`; it is one of ${risks.join(", ")}.`);
  } else if (name === "effects") {
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!list.every((one) => toolEffects.includes(one)))
      throw invalid(`${place} is \`${JSON.stringify(value)}\`; it is one or more of ${toolEffects.join(", ")}.`);
  } else if (selectors.includes(name)) checkPattern(value, place);
  else if (notes.includes(name)) {
    if (typeof value !== "string" || !value.isWellFormed()) throw invalid(`${place} is not text.`);
  } else if (name === "optional") {
    if (typeof value !== "boolean") throw invalid(`${place} is \`${String(value)}\`; it is true or false.`);
  } else if (name !== "effect" && !others.includes(name))
    throw invalid(
      `\`${name}\` of ${at} is not known; a rule has effect, ${[...selectors, ...others, ...notes, "optional"].join(", ")}.`,
    );
}

function checkPrincipal(value: unknown, at: string): void {
  for (const [field, wanted] of fieldsOf(value, `\`principal\` of ${at}`)) {
    if (!principalFields.includes(field))
      throw invalid(`\`principal.${field}\` of ${at} is not known; it has ${principalFields.join(", ")}.`);
    checkPattern(wanted, `\`principal.${field}\` of ${at}`);
  }
}

function checkPattern(pattern: unknown, name: string): void {
  if (typeof pattern !== "string" || pattern === "" || !pattern.isWellFormed()) {
    throw invalid(`${name} is \`${String(pattern)}\`; it is a name, in which \`*\` stands for anything.`);
  }
}
