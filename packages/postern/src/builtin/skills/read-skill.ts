import { visible } from "@postern/core";
import { type HeadValue, knownKeys, type RefusedSkill, type SkillText } from "./front-matter.ts";
import { maxDescription, type Skill } from "./skills.ts";

const namePattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const maxName = 64;
/** A longer text is no name. */
const absurdName = 256;
const maxCompatibility = 500;
const maxAllowedTools = 500;

/**
 * Makes a skill of the front matter. A name that breaks the rules is only a warning. A skill without a description is
 * refused, and so is one whose restriction is not clear.
 *
 * @param folder its folder's name
 */
export function skillFrom({ fields, warnings }: SkillText, folder: string, path: string): Skill | RefusedSkill {
  const description = (textOf(fields.get("description")) ?? "").trim();
  if (description === "") return without(fields);
  const name = (textOf(fields.get("name")) ?? "").trim();
  const id = name === "" ? folder : name;
  if (id.length > absurdName || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(id)) {
    return {
      problem: `its name ${visible(id.slice(0, 60))} cannot be shown safely`,
      fix: "Use 1 to 64 of a-z, 0-9 and single hyphens.",
    };
  }
  const allowed = allowedToolsOf(fields);
  if ("problem" in allowed) return allowed;
  const { metadata, left } = metadataOf(fields.get("metadata"));
  const allWarnings = [
    ...warnings,
    ...nameWarnings(name, folder),
    ...lengthWarnings(description),
    ...textWarnings(fields),
    ...allowed.warnings,
    ...left,
    ...misspelledFields(fields),
  ];
  return Object.freeze({
    name: id,
    description,
    version: nonEmpty(fields.get("version")) ?? "1.0",
    allowedTools: Object.freeze(allowed.tools),
    ...textField("license", fields),
    ...textField("compatibility", fields),
    ...textField("category", fields),
    tags: Object.freeze(listOf(fields.get("tags"))),
    aliases: Object.freeze(listOf(fields.get("aliases"))),
    metadata: Object.freeze(metadata),
    path,
    warnings: Object.freeze(allWarnings),
  });
}

function without(fields: SkillText["fields"]): RefusedSkill {
  const description = fields.get("description");
  const [hint] = misspelledFields(fields).filter((sentence) => sentence.includes("`description`"));
  const fix = hint ?? "Say in `description:` what it does and when to use it: it is all an agent sees of it at first.";
  return typeof description === "object"
    ? { problem: "its `description` is no text", fix }
    : { problem: "it has no description", fix };
}

function lengthWarnings({ length }: string): readonly string[] {
  if (length <= maxDescription) return [];
  return [`\`description\` has ${length} characters; the standard allows ${maxDescription}, and no more is shown`];
}

/** Each warning names the broken rule. */
function nameWarnings(name: string, folder: string): readonly string[] {
  if (name === "") return [`\`name\` is missing; its folder's name \`${folder}\` is taken`];
  const warnings: string[] = [];
  const say = (rule: string): void => void warnings.push(`name ${visible(name)}: ${rule}`);
  if (name.length > maxName) say(`${name.length} characters; at most ${maxName}`);
  if (/[^a-z0-9-]/.test(name)) say("only a-z, 0-9 and hyphens");
  if (/^-|-$/.test(name)) say("no hyphen at the beginning or the end");
  if (name.includes("--")) say("no two hyphens in a row");
  if (warnings.length === 0 && !namePattern.test(name)) say("only a-z, 0-9 and single hyphens");
  if (name !== folder) say(`not the name of its folder \`${folder}\``);
  return warnings;
}

interface Allowed {
  readonly tools: readonly string[];
  readonly warnings: readonly string[];
}

/** Separated by spaces or commas, or a list. Any other form is refused, because it was meant to restrict. */
function allowedToolsOf(fields: SkillText["fields"]): Allowed | RefusedSkill {
  const key = ["allowed-tools", "allowed_tools"].find((one) => fields.has(one));
  if (key === undefined) return { tools: [], warnings: [] };
  const value = fields.get(key);
  const fix = "Write names separated by spaces, or a list of names.";
  if (fields.has("allowed-tools") && fields.has("allowed_tools"))
    return { problem: "`allowed-tools` is there in two spellings", fix: "Keep `allowed-tools`." };
  if (typeof value === "object" && !Array.isArray(value)) return { problem: `\`${key}\` is a mapping`, fix };
  const given = value === undefined ? [] : typeof value === "string" ? words(value) : listOf(value).flatMap(words);
  const tools = [...new Set(given)];
  if (tools.length > maxAllowedTools)
    return {
      problem: `\`${key}\` names ${tools.length} tools; at most ${maxAllowedTools} are read`,
      fix: "Use patterns such as `github__*`.",
    };
  return { tools, warnings: tools.length === 0 ? [`\`${key}\` is empty: it restricts nothing`] : [] };
}

/** `Bash(git add:*)` is one word, because other clients write arguments in brackets. */
function words(text: string): readonly string[] {
  return text.match(/(?:[^\s,(]|\([^)]*\)?)+/g) ?? [];
}

/** A list, or a text of words. `[a, b]` in a broken quote counts as words too. */
function listOf(value: HeadValue): readonly string[] {
  if (value === undefined) return [];
  if (typeof value === "string") return value.split(/[\s,]+/).filter((word) => word !== "");
  return (Array.isArray(value) ? value : []).map((word: string) => word.trim()).filter((word) => word !== "");
}

function metadataOf(value: HeadValue): { readonly metadata: Record<string, string>; readonly left: readonly string[] } {
  if (value === undefined) return { metadata: {}, left: [] };
  if (!(value instanceof Map)) return { metadata: {}, left: ["`metadata` is not a mapping of texts; it was left out"] };
  return { metadata: Object.fromEntries(value), left: [] };
}

const textKeys = ["name", "version", "license", "compatibility", "category"] as const;

function textWarnings(fields: SkillText["fields"]): readonly string[] {
  const odd = textKeys
    .filter((key) => typeof fields.get(key) === "object")
    .map((key) => `\`${key}\` is no text; it was left out`);
  const length = textOf(fields.get("compatibility"))?.length ?? 0;
  if (length > maxCompatibility)
    odd.push(`\`compatibility\` has ${length} characters; the standard allows ${maxCompatibility}`);
  return odd;
}

const likeKnown: ReadonlyMap<string, string> = new Map([
  ...[...knownKeys].map((key) => [plainKey(key), key] as const),
  ["tool", "allowed-tools"],
]);

/** Keys of other clients are ignored. But a misspelled `allowed-tools` would restrict nothing, so it gets a warning. */
function misspelledFields(fields: SkillText["fields"]): readonly string[] {
  return [...fields.keys()].flatMap((key) => {
    const meant = knownKeys.has(key) ? undefined : likeKnown.get(plainKey(key));
    return meant === undefined ? [] : [`${visible(key)} is not read; if \`${meant}\` is meant, write that`];
  });
}

function plainKey(key: string): string {
  return key
    .toLowerCase()
    .replace(/[^a-z]/g, "")
    .replace(/s$/, "");
}

function textOf(value: HeadValue): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function nonEmpty(value: HeadValue): string | undefined {
  const text = textOf(value)?.trim();
  return text === "" ? undefined : text;
}

function textField<K extends string>(key: K, fields: SkillText["fields"]): { readonly [P in K]?: string } {
  const text = nonEmpty(fields.get(key));
  return (text === undefined ? {} : { [key]: text }) as { readonly [P in K]?: string }; // one key, K, or none
}
