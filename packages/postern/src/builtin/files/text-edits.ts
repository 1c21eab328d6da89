import { edited, inserted, type LineChange, type TextEdit, withLines } from "./editing.ts";
import { nearestLines, numbered } from "./nearest.ts";

/**
 * Changes of a text, for tools that edit files. Line ends and a byte order mark stay as they are. A change that does not fit
 * throws a `FileRejection` that tells the model what stands there.
 *
 * @public
 */
export interface TextEdits {
  /** Replaces a text that must occur exactly once, or `count` times. */
  replaced(text: string, edit: TextEdit): string;
  /** Inserts whole lines after a line; 0 means before the first. */
  inserted(text: string, edit: { readonly line: number; readonly new_text: string }): string;
  /** Replaces lines by others. */
  withLines(text: string, change: (lines: readonly string[]) => readonly LineChange[]): string;
  /** For the message about lines that were not found: where the text comes nearest to them. */
  nearest(lines: readonly string[], wanted: readonly string[], from?: number): string;
  /** The lines with their numbers, as models read a file. */
  numbered(lines: readonly string[], first: number): string;
}

/** @public */
export const textEdits: TextEdits = {
  ...{ replaced: edited, inserted, withLines },
  ...{ nearest: nearestLines, numbered },
};
