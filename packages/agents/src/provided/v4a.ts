/**
 * OpenAI's patch format "V4A": hunks of context, removed and added lines, placed by their content and not by line numbers.
 * `apply_patch` items have the hunks of one file; Codex's text has several files between `*** Begin Patch` and
 * `*** End Patch`.
 *
 * Invariant: if a hunk does not match, nothing changes. Only blanks at the beginning and end of lines may differ.
 */
import { shortened } from "@postern/core";
import { FileRejection, type LineChange, textEdits } from "postern/builtin";

export interface HunkLine {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

export interface Hunk {
  /** Lines before it in the file, each after the one before. */
  readonly anchors: readonly string[];
  readonly lines: readonly HunkLine[];
  /** Whether it is the end of the file. */
  readonly isLast: boolean;
}

/** What a patch does to one file. */
export type PatchStep =
  | { readonly kind: "create"; readonly path: string; readonly text: string }
  | { readonly kind: "update"; readonly path: string; readonly to?: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: "delete"; readonly path: string };

const headers = /^\*\*\* (Add|Update|Delete) File: (.*)$/;
const moveHeader = "*** Move to: ";
const endOfFile = "*** End of File";
/** A range of unified diffs. V4A ignores it. */
const unifiedRange = /^-\d+(?:,\d+)? \+\d+(?:,\d+)? @@/;
const mostComparisons = 20_000_000;
/** Characters of a line in a message. */
const mostShown = 121;

/** Reads Codex's text. @throws FileRejection `patch_invalid` */
export function parsePatch(text: string): readonly PatchStep[] {
  const lines = linesOf(text.trim());
  if (lines[0]?.trim() !== "*** Begin Patch" || lines.at(-1)?.trim() !== "*** End Patch")
    throw invalid("must begin with `*** Begin Patch` and end with `*** End Patch`.");
  const body = lines.slice(1, -1);
  const starts = body.flatMap((line, i) => (headers.test(line) ? [i] : []));
  if (starts[0] !== 0) throw invalid(`names no file in its line 2; write \`*** Update File: PATH\`, Add or Delete.`);
  return starts.map((start, i) => stepOf(body.slice(start, starts[i + 1])));
}

function stepOf([header = "", ...rest]: readonly string[]): PatchStep {
  const [, kind, path = ""] = headers.exec(header) ?? [];
  if (kind === "Add") return { kind: "create", path, text: createdText(rest) };
  if (kind === "Update") {
    const to = rest[0]?.startsWith(moveHeader) === true ? { to: rest[0].slice(moveHeader.length) } : {};
    const diff = "to" in to ? rest.slice(1) : rest;
    return { kind: "update", path, ...to, hunks: "to" in to && diff.every(isBlank) ? [] : hunksOf(diff) };
  }
  if (!rest.every(isBlank)) throw invalid(`has lines below \`${header}\`; a file that is deleted needs none.`);
  return { kind: "delete", path };
}

/** The step of one `apply_patch` item. @throws FileRejection `patch_invalid` */
export function operationStep(operation: {
  readonly type: "create_file" | "update_file" | "delete_file";
  readonly path: string;
  readonly diff?: string;
}): PatchStep {
  const { type, path, diff = "" } = operation;
  if (type === "delete_file") return { kind: "delete", path };
  const lines = linesOf(diff);
  if (type === "create_file") return { kind: "create", path, text: createdText(lines) };
  return { kind: "update", path, hunks: hunksOf(lines) };
}

/** A new file's lines all begin with `+`. */
function createdText(lines: readonly string[]): string {
  const odd = lines.find((line) => !line.startsWith("+") && !isBlank(line));
  if (odd !== undefined)
    throw invalid(`creates a file by the line \`${shortened(odd, mostShown)}\`; each line must begin with \`+\`.`);
  return lines.flatMap((line) => (line.startsWith("+") ? [`${line.slice(1)}\n`] : [])).join("");
}

function hunksOf(lines: readonly string[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  for (let at = 0; at < lines.length; ) {
    const anchors: string[] = [];
    for (; lines[at]?.startsWith("@@") === true; at += 1) anchors.push((lines[at] ?? "").slice(2).trim());
    const begin = at;
    while (at < lines.length && lines[at]?.startsWith("@@") !== true && lines[at] !== endOfFile) at += 1;
    const body = lines.slice(begin, at);
    while (body.at(-1) === "") body.pop(); // it separates the hunk from the next one
    const isLast = lines[at] === endOfFile;
    if (isLast) at += 1;
    if (body.length === 0) throw invalid(`has nothing in its hunk ${hunks.length + 1}.`);
    const named = anchors.filter((anchor) => anchor !== "" && !unifiedRange.test(anchor));
    hunks.push({ anchors: named, lines: body.map((line) => hunkLine(line, hunks.length + 1)), isLast });
  }
  if (hunks.length === 0) throw invalid("has no hunk.");
  return hunks;
}

function hunkLine(line: string, hunk: number): HunkLine {
  const [sign = " "] = line;
  if (sign === " " || sign === "-" || sign === "+") return { sign, text: line.slice(1) };
  throw invalid(
    `has the line \`${shortened(line, mostShown)}\` in its hunk ${hunk}; a line begins with a space (as it is), \`-\` or \`+\`.`,
  );
}

/** Applies all hunks. @throws FileRejection `no_match` that names the hunk and shows the lines of the file */
export function patched(text: string, hunks: readonly Hunk[]): string {
  return textEdits.withLines(text, (lines) => {
    const file = new FileLines(lines);
    return hunks.flatMap((hunk, i) => file.place(hunk, i + 1));
  });
}

/** From strict to lenient: exact, without blanks at the end, without blanks at both ends. */
const normalizers: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
];

/** The lines of a file, in which the hunks are found one after the other. */
class FileLines {
  readonly #lines: readonly string[];
  readonly #alike: readonly (readonly string[])[];
  #cursor = 0;
  #comparisons = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
    this.#alike = normalizers.map((like) => lines.map(like));
  }

  place({ anchors, lines, isLast }: Hunk, number: number): readonly LineChange[] {
    for (const anchor of anchors) {
      const found = this.#seek([anchor], this.#cursor);
      if (found < 0) throw this.#noMatch(number, [anchor], `there is no line \`${shortened(anchor, mostShown)}\``);
      this.#cursor = found + 1;
    }
    const old = lines.filter(({ sign }) => sign !== "+").map((line) => line.text);
    const at = this.#find(old, { isLast, isAnchored: anchors.length > 0 });
    if (at === undefined)
      throw new FileRejection(
        "no_match",
        `was not changed: hunk ${number} of the patch only adds lines and does not say where. Give lines of context, or \`@@\` and the line above.`,
      );
    if (at < 0) throw this.#noMatch(number, old, "its lines are not there one after the other");
    this.#cursor = at + old.length;
    return changesOf(lines, at);
  }

  /** Returns undefined if it could be anywhere. */
  #find(old: readonly string[], { isLast, isAnchored }: { isLast: boolean; isAnchored: boolean }): number | undefined {
    const { length } = this.#lines;
    if (old.length === 0) return isLast ? length : isAnchored || length === 0 ? this.#cursor : undefined;
    const atEnd = isLast ? this.#seek(old, Math.max(this.#cursor, length - old.length)) : -1;
    return atEnd >= 0 ? atEnd : this.#seek(old, this.#cursor);
  }

  #seek(wanted: readonly string[], from: number): number {
    for (const [i, like] of normalizers.entries()) {
      const lines = this.#alike[i] ?? [];
      const looked = wanted.map(like);
      for (let at = from; at + looked.length <= lines.length; at += 1)
        if (this.#common(lines, looked, at) === looked.length) return at;
    }
    return -1;
  }

  /** How many lines in a row are the same from there on. */
  #common(lines: readonly string[], wanted: readonly string[], at: number): number {
    let same = 0;
    while (same < wanted.length && lines[at + same] === wanted[same]) same += 1;
    this.#comparisons += same + 1;
    if (this.#comparisons > mostComparisons)
      throw new FileRejection(
        "too_large",
        "was not changed: the patch fits it nearly in too many places. Give other context.",
      );
    return same;
  }

  #noMatch(number: number, old: readonly string[], why: string): FileRejection {
    const nearest = textEdits.nearest(this.#lines, old, this.#cursor);
    return new FileRejection(
      "no_match",
      `was not changed: hunk ${number} of the patch does not match, ${why}${nearest}`,
    );
  }
}

function changesOf(lines: readonly HunkLine[], at: number): readonly LineChange[] {
  const changes: LineChange[] = [];
  let next = { at, taken: 0, put: [] as string[] };
  for (const { sign, text } of [...lines, { sign: " ", text: "" } as const]) {
    if (sign === "+") next.put.push(text);
    else if (sign === "-") next.taken += 1;
    else {
      if (next.taken > 0 || next.put.length > 0) changes.push(next);
      next = { at: next.at + next.taken + 1, taken: 0, put: [] };
    }
  }
  return changes;
}

/** A line break at the end begins no new line. */
function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function isBlank(line: string): boolean {
  return line.trim() === "";
}

function invalid(message: string): FileRejection {
  return new FileRejection("patch_invalid", message);
}
