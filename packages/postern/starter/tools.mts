import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { defineTool } from "postern";

/** Safe, so it runs at once. */
export const clock = defineTool({
  name: "clock",
  description: "Tells the current time, UTC.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  execute: () => new Date().toISOString(),
});

/** Writes, so a person is asked first and sees the preview. */
export const note = defineTool({
  name: "note",
  description: "Appends one line to notes.md.",
  risk: "medium",
  effects: "write",
  idempotent: false,
  input: {
    type: "object",
    properties: { text: { type: "string", minLength: 1, maxLength: 2000 } },
    required: ["text"],
    additionalProperties: false,
  },
  preview: async ({ text }) => ({ summary: "Appends one line to notes.md", diff: `+${text}` }),
  execute: async ({ text }) => {
    await appendFile(join(import.meta.dirname, "notes.md"), `${text}\n`);
    return "Appended.";
  },
});
