import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
// In a project of your own: import { defineTool } from "postern";
import { defineTool } from "../packages/postern/src/tools/define.ts";

const notes = fileURLToPath(new URL("../workspace/notes.md", import.meta.url));

/** Safe and without any effect: it runs at once at every level but A0. */
export const clockNow = defineTool({
  name: "clock_now",
  description: "The current time, UTC, as ISO 8601.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  input: z.strictObject({}),
  execute: () => new Date().toISOString(),
});

/** Writes, so a person is asked; the preview shows the very line that would be written. */
export const noteAppend = defineTool({
  name: "note_append",
  description: "Appends one line to workspace/notes.md.",
  risk: "medium",
  effects: "write",
  idempotent: false,
  input: z.strictObject({ text: z.string().min(1).max(2_000) }),
  preview: async ({ text }) => ({
    summary: "Appends one line to workspace/notes.md",
    diff: `+${noteLine(text)}`,
  }),
  execute: async ({ text }) => {
    // Never through a link: whoever may write in the workspace could point it anywhere.
    const file = await open(
      notes,
      constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW,
      0o644,
    );
    try {
      await file.appendFile(`${noteLine(text)}\n`);
      await file.datasync();
    } finally {
      await file.close();
    }
    return `Appended to workspace/notes.md: ${noteLine(text)}`;
  },
});

/** A note is one line, whatever it was given. */
function noteLine(text: string): string {
  return `- ${text.replaceAll(/\s+/g, " ").trim()}`;
}
