import { messageOf } from "@postern/core";
import { RE2JS } from "re2js";
import { FileRejection } from "../guard/rejection.ts";
import { globSource, literal } from "./glob.ts";
import type { GrepTask } from "./job.ts";

const maxPatternLength = 1_000;

/** Finds a pattern in text, in time that grows only with the text (RE2): no pattern can make it hang. */
export interface Finder {
  /** Whether a line of the text may have it. */
  mayHold(text: string): boolean;
  holds(line: string): boolean;
}

/** @throws FileRejection `pattern_invalid`, with what is wrong */
export function finderOf(task: Pick<GrepTask, "pattern" | "ignoreCase" | "literal">): Finder {
  const { pattern, ignoreCase } = task;
  checkLength(pattern);
  if (task.literal || !/[\\^$.*+?()[\]{}|]/.test(pattern)) return plainFinder(pattern, ignoreCase);
  const source = inRe2Syntax(pattern);
  const compiled = compile(source, RE2JS.MULTILINE | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0));
  // Only a pattern that sees one line at a time can be tried on the whole text first.
  const isLocal = !/\\[AzZ]|\(\?\w*-/.test(source);
  return {
    mayHold: (text) => !isLocal || compiled.test(text),
    holds: (line) => compiled.test(line),
  };
}

/** Plain text needs no engine, and without alternatives a RegExp of the language cannot hang either. */
function plainFinder(text: string, ignoreCase: boolean): Finder {
  if (!ignoreCase) return finderBy((where) => where.includes(text));
  const folded = new RegExp(literal(text), "iu");
  return finderBy((where) => folded.test(where));
}

function finderBy(holds: (text: string) => boolean): Finder {
  return { mayHold: holds, holds };
}

/** Paths match in each Unicode normal form. @throws FileRejection `pattern_invalid` */
export function pathMatcher(glob: string): (path: string) => boolean {
  checkLength(glob);
  const compiled = compile(globSource(glob.normalize("NFC")), 0);
  return (path) => compiled.test(path.normalize("NFC"));
}

function checkLength(pattern: string): void {
  if (pattern.length <= maxPatternLength) return;
  throw new FileRejection(
    "pattern_invalid",
    `was not searched: the pattern has ${pattern.length} characters; at most ${maxPatternLength} are taken.`,
  );
}

function compile(source: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(source, flags);
  } catch (error) {
    throw new FileRejection(
      "pattern_invalid",
      `was not searched: ${messageOf(error)}. Patterns are RE2's: no look-around and no back-references; \`literal: true\` takes the text as it is.`,
    );
  }
}

/** RE2 writes `\u00e9` of JavaScript in another way. */
function inRe2Syntax(pattern: string): string {
  return pattern.replace(
    /\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|[\s\S])/g,
    (whole, long?: string, short?: string) =>
      long === undefined && short === undefined ? whole : `\\x{${long ?? short}}`,
  );
}
