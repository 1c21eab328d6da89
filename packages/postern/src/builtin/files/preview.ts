import { hash } from "node:crypto";
import { counted, type JsonObject } from "@postern/core";
import type { StructuredPatchHunk } from "diff";
import { type Encoding, textFound } from "./encoding.ts";

/** One file before and after a change. */
export interface ShownChange {
  readonly path: string;
  /** Undefined if the file is new. */
  readonly before: Buffer | undefined;
  readonly after: Buffer;
  /** The stated encoding of both. The diff must show the text that is written. */
  readonly encoding?: Encoding | undefined;
}

/** If more lines differ, the diff shows the whole text as replaced: a longer diff takes its square of time. */
const mostChangedLines = 1_000;

/**
 * What a change would do: a unified diff to read, and the digests of before and after. They bind an approval to the whole
 * change, also to what the diff has no room for.
 */
export async function previewOf(verb: string, { path, before, after, encoding }: ShownChange): Promise<JsonObject> {
  const now = before === undefined ? "new" : counted(before.length, "byte");
  const old = before === undefined ? "" : textFound(before, encoding);
  const text = textFound(after, encoding);
  const diff = old === undefined || text === undefined ? undefined : await unifiedDiff(old, text);
  return {
    summary: `${verb} ${path} (${now} → ${counted(after.length, "byte")})`,
    ...(diff !== undefined && { diff: `--- ${path}\n+++ ${path}\n${diff}` }),
    details: { path, before: before === undefined ? null : digestOf(before), after: digestOf(after) },
  };
}

/** Two texts as a unified diff, as `diff -u` writes it, without the header of the file. Empty if they are equal. */
export async function unifiedDiff(before: string, after: string): Promise<string> {
  const { structuredPatch } = await import("diff");
  const patch = structuredPatch("", "", before, after, "", "", { context: 3, maxEditLength: mostChangedLines });
  return (patch?.hunks ?? [replacing(before, after)])
    .map(({ oldStart, oldLines, newStart, newLines, lines }) => {
      const from = `${oldLines === 0 ? oldStart - 1 : oldStart},${oldLines}`;
      const to = `${newLines === 0 ? newStart - 1 : newStart},${newLines}`;
      return [`@@ -${from} +${to} @@`, ...lines].join("\n");
    })
    .join("\n");
}

/** One hunk that replaces the whole text. */
function replacing(before: string, after: string): StructuredPatchHunk {
  const [old, now] = [linesOf(before), linesOf(after)];
  const lines = [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)];
  return { oldStart: 1, oldLines: old.length, newStart: 1, newLines: now.length, lines };
}

/** A text that ends without a line break says so, as `diff -u` does. */
function linesOf(text: string): readonly string[] {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  return last === "" ? lines : [...lines, `${last}\n\\ No newline at end of file`];
}

function digestOf(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex");
}
