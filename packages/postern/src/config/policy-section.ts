import { canonical, type Json, messageOf, RuntimeFault } from "@postern/core";
import { sha256 } from "@postern/core/system";
import { isMap, isScalar, parseDocument } from "yaml";
import { readSource } from "./source.ts";

/** The lines of a configuration that are its policy. */
export interface PolicySection {
  /** In the file's text. Both are equal if there is no policy yet. */
  readonly start: number;
  readonly end: number;
  /** The line where it begins, or would begin, from 1. */
  readonly line: number;
  /** Always with `\n` and one line break at the end. */
  readonly text: string;
  readonly digest: string;
}

const empty = "policy: {}\n";

/** Returns undefined if the policy cannot be separated from the rest (JSON, an indented file, an alias into another section). */
export function findSection(name: string, text: string): PolicySection | undefined {
  if (!isReadable(name, text)) return undefined;
  const { contents } = parseDocument(text, { logLevel: "error" });
  if (contents === null) return atEnd(text);
  if (!isMap(contents) || contents.flow === true) return undefined;
  const pairs = contents.items.map(({ key }) =>
    isScalar(key) ? { name: key.value, at: key.range?.[0] ?? 0 } : undefined,
  );
  const own = pairs.findIndex((pair) => pair?.name === "policy");
  if (own === -1) return atEnd(text);
  const start = pairs[own]?.at ?? 0;
  if (start > 0 && text[start - 1] !== "\n") return undefined;
  const end = lastOwnLine(text, start, pairs[own + 1]?.at ?? text.length);
  const section = sectionOf({ start, end, line: linesOf(text.slice(0, start)) }, text.slice(start, end));
  return isReadable(name, section.text) ? section : undefined;
}

function isReadable(name: string, text: string): boolean {
  try {
    readSource(name, text);
    return true;
  } catch {
    return false; // the reader of the whole file reports the mistakes
  }
}

/** The comments and empty lines before the next section are that section's. */
function lastOwnLine(text: string, start: number, next: number): number {
  const lines = text.slice(start, next).split(/(?<=\n)/);
  while (lines.length > 1 && /^(?:#|\s*$|---|\.\.\.)/.test(lines.at(-1) ?? "")) lines.pop();
  return start + lines.join("").length;
}

/** Without a policy, a new one goes to the end of the file. */
function atEnd(text: string): PolicySection {
  const line = linesOf(text) + (text === "" || text.endsWith("\n") ? 0 : 1);
  return sectionOf({ start: text.length, end: text.length, line }, empty);
}

function sectionOf(place: Pick<PolicySection, "start" | "end" | "line">, raw: string): PolicySection {
  const text = `${raw.replaceAll("\r\n", "\n").trimEnd()}\n`;
  return { ...place, text, digest: sha256(text) };
}

function linesOf(text: string): number {
  return text.split("\n").length;
}

/** Another policy at its place in the file, so that problems name the file's lines. */
export function atSameLine({ line }: Pick<PolicySection, "line">, text: string): string {
  return "\n".repeat(line - 1) + text;
}

/**
 * The file's text with another policy in it. The rest does not change.
 *
 * @throws RuntimeFault `policy_invalid` when the new text is more, or less, than a policy
 */
export function withSection(file: string, section: PolicySection, text: string): string {
  const added = valuesOf("the policy", atSameLine(section, text));
  const keys = Object.keys(added);
  if (keys.length !== 1 || keys[0] !== "policy")
    throw invalid(
      `the text must be \`policy:\` and what belongs to it; it has ${keys.length === 0 ? "nothing" : `\`${keys.join("`, `").slice(0, 200)}\``}`,
    );
  const lineBreak = file.includes("\r\n") ? "\r\n" : "\n";
  const newText = `${text.replaceAll("\r\n", "\n").trimEnd()}\n`.replaceAll("\n", lineBreak);
  const before = file.slice(0, section.start);
  const gap = section.start === section.end && before !== "" && !before.endsWith("\n") ? lineBreak : "";
  const made = `${before}${gap}${newText}${file.slice(section.end)}`;
  const wanted = { ...valuesOf("the file", file), ...added };
  if (canonical(asJson(valuesOf("the file", made))) !== canonical(asJson(wanted)))
    throw invalid(
      "with this text other parts of the file would read differently; begin with `policy:` in the first column",
    );
  return made;
}

function valuesOf(name: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = readSource(name, text).value;
  } catch (error) {
    throw invalid(messageOf(error));
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** YAML's core schema gives JSON values, except for infinite numbers. */
function asJson(value: Record<string, unknown>): Json {
  return JSON.parse(JSON.stringify(value));
}

function invalid(why: string): RuntimeFault {
  return new RuntimeFault("policy_invalid", `This cannot be saved: ${why.replace(/\.$/, "")}.`);
}
