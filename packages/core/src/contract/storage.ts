import { z } from "zod";
import { component, flag, text, when, whole } from "./fields.ts";
import { route, type View } from "./route.ts";

const storedKind = z.object({
  kind: z.enum(["calls", "approvals", "events", "documents", "artifacts"]),
  rows: whole,
  bytes: whole,
});
const storedSizes = component("Storage", {
  kinds: z.array(storedKind).describe("Counted at most every five minutes. Empty for a store that does not say."),
  last_backup_at: when.optional().describe("When the last backup was taken that passed its check."),
});
export type StorageView = View<typeof storedSizes>;

export const storage = {
  show: route("get", "/v1/storage", "controls:read", {
    summary: "What the store and the artifacts take, by kind, and when the last backup was taken.",
    answer: storedSizes,
  }),
};

export const backups = {
  make: route("post", "/v1/backups", "backups:make", {
    summary: "A backup of the data folder as one tar archive, while calls go on: docs/reference/backup.md.",
    body: z.strictObject({
      recipient: z
        .string()
        .max(4096)
        .regex(/^age1[a-z0-9]+$/, "must be an age recipient: `age1…`")
        .optional()
        .describe("Keys and tokens are sealed to it. Without it, they are left out."),
    }),
    answer: "application/x-tar",
  }),
  checked: route("post", "/v1/backups/checked", "backups:make", {
    summary: "Record that a backup was read again and proved.",
    body: z.strictObject({ taken_at: text.describe("`taken_at` of its manifest.") }),
    answer: z.object({ recorded: flag }),
  }),
};
