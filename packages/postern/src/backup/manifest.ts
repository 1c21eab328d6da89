/**
 * A backup is one tar archive: `audit.anchors`, `postern.db`, the other files of the data folder, `keys.age`, the files
 * below `artifacts/`, then `manifest.json` and its SHA-256 in `manifest.sha256`. What is cut off has no manifest.
 *
 * Invariant: a restored file is byte for byte what the manifest names. Next: make-backup.ts, read-backup.ts, tar.ts.
 */
import { z } from "zod";

export const databaseFile = "postern.db";
export const keysFile = "keys.age";
export const anchorFile = "audit.anchors";
export const manifestFile = "manifest.json";
export const manifestDigestFile = "manifest.sha256";

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const whole = z.int().min(0);

export const manifestSchema = z.strictObject({
  format: z.literal(1),
  /** The Postern that made it. */
  postern: z.string(),
  /** The version of the tables. */
  schema: whole,
  /** ISO 8601. */
  taken_at: z.string(),
  log: z.strictObject({
    public_key: z.string(),
    /** Signed before the copy was begun: the log in the copy has at least these entries. */
    checkpoint: z.string(),
  }),
  rows: z.strictObject({ calls: whole, approvals: whole, waiting: whole, events: whole, documents: whole }),
  files: z.array(z.strictObject({ name: z.string(), bytes: whole, sha256: digest })),
  keys: z.strictObject({
    /** The recipient of `keys.age`. Null if the keys are left out. */
    sealed_to: z.string().nullable(),
    names: z.array(z.string()),
  }),
});
export type Manifest = Readonly<z.output<typeof manifestSchema>>;
export type ManifestFile = Manifest["files"][number];

/** Files that open what is stored: they are sealed, or left out. */
export function isKey(name: string): boolean {
  return /^[^/]+\.(?:key|token|age)$/.test(name);
}

/** A relative path without `.`, `..` and empty parts, so that nothing is written outside of the folder. */
export function isPlainPath(name: string): boolean {
  return (
    name.length <= 1024 &&
    name.split("/").every((part) => part !== "" && part !== "." && part !== ".." && !/[\0\\]/.test(part))
  );
}
