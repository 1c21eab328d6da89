import { defined, type JsonObject } from "@postern/core";
import { definitionFields } from "./definition.ts";
import { leavesOf } from "./differences.ts";
import { reveal } from "./reveal.ts";

/** A part of a definition that an operator should read before a model does. It blocks nothing. */
export interface SuspiciousText {
  readonly field: string;
  /** The place inside the field, as JSON pointer. Left out: the field itself. */
  readonly path?: string;
  /** The first character, counted from 0. */
  readonly at: number;
  readonly what: string;
  /** The text that was found, with hidden characters shown as codes. */
  readonly text: string;
}

const shownLength = 80;
/** A person reads no more. */
const mostFound = 50;

const signs: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a terminal's control sequence", /(?![\t\n\r])\p{Cc}[[\]][^\s]{0,8}/u],
  ["hidden characters", /(?![\t\n\r]|\p{Cc}[[\]])[\p{Cc}\p{Cf}\p{Co}\p{Default_Ignorable_Code_Point}]/u],
  ["a comment that is not shown", /<!--/],
  ["a tag as in a prompt", /<\/?(?:important|system|instructions?|secret|assistant)>/i],
  [
    "an order to ignore instructions",
    /\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:instructions?|rules?|prompts?|guidelines)\b/i,
  ],
  [
    "an order to hide something",
    /\b(?:do not|don't|never)\s+(?:tell|mention|inform|reveal|show|notify|ask)\b[^.\n]{0,40}\b(?:user|human|person|operator)\b/i,
  ],
  [
    "an order about other tools",
    /\b(?:before|instead of|after|when)\s+(?:using|calling|you (?:use|call))\s+(?:any|another|other|all|every)\b/i,
  ],
  ["an order to the model", /\byou (?:must|should|have to) (?:always|first|never|also)\b/i],
];

const signsInName: typeof signs = [["characters that may look like others", /[^\n -~]+/]];

/** What looks like an instruction to a model, or like something that is hidden from people. */
export function suspiciousTexts(body: JsonObject): readonly SuspiciousText[] {
  const found: SuspiciousText[] = [];
  for (const field of definitionFields)
    for (const [path, value] of leavesOf(body[field])) {
      if (typeof value !== "string") continue;
      for (const [what, pattern] of field === "name" ? [...signs, ...signsInName] : signs) {
        const match = pattern.exec(value);
        if (match === null) continue;
        const text = reveal(match[0].slice(0, shownLength));
        found.push(defined({ field, path: path === "" ? undefined : path, at: match.index, what, text }));
        if (found.length >= mostFound) return found;
      }
    }
  return found;
}
