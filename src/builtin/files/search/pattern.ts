import { RE2JS } from "re2js";
import { messageOf } from "../../../core/fault.ts";
import { FileRejection } from "../guard/rejection.ts";
import { globSource, literal } from "./glob.ts";
import type { GrepTask } from "./job.ts";

const maxPatternLength = 1_000;

/** Finds a pattern in text, in time that grows with the text alone (RE2): no pattern can make it hang. */
export interface Finder {
  /** Whether any line of the text has it; may say yes where none has. */
  mayHold(text: string): boolean;
  holds(line: string): boolean;
}

/** @throws Rejection `pattern_invalid`, saying what is wrong with it */
export function finderOf(task: Pick<GrepTask, "pattern" | "ignoreCase" | "literal">): Finder {
  const { pattern, ignoreCase } = task;
  checkLength(pattern);
  if (task.literal || !/[\\^$.*+?()[\]{}|]/.test(pattern)) return plainFinder(pattern, ignoreCase);
  const source = spelledForRe2(pattern);
  const compiled = compile(source, RE2JS.MULTILINE | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0));
  // Only what sees no more of a text than its line can be asked of the whole text first.
  const isLocal = !/\\[AzZ]|\(\?\w*-/.test(source);
  return {
    mayHold: (text) => !isLocal || compiled.test(text),
    holds: (line) => compiled.test(line),
  };
}

/** Plain text needs no engine; without a choice in it, the language's own expressions cannot hang either. */
function plainFinder(text: string, ignoreCase: boolean): Finder {
  if (!ignoreCase) return finderBy((where) => where.includes(text));
  const folded = new RegExp(literal(text), "iu");
  return finderBy((where) => folded.test(where));
}

function finderBy(holds: (text: string) => boolean): Finder {
  return { mayHold: holds, holds };
}

/** @throws Rejection `pattern_invalid` */
export function pathMatcher(glob: string): (path: string) => boolean {
  checkLength(glob);
  const compiled = compile(globSource(glob), 0);
  return (path) => compiled.test(path);
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

/** `\u00e9` and `(?<name>` as JavaScript writes them are spelled otherwise in RE2. */
function spelledForRe2(pattern: string): string {
  return pattern.replace(
    /\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|[\s\S])/g,
    (whole, long?: string, short?: string) =>
      long === undefined && short === undefined ? whole : `\\x{${long ?? short}}`,
  );
}
