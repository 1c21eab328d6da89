/** The `files` section of a configuration file. Only src/config imports this: the tools themselves know no zod. */
import { resolve } from "node:path";
import { z } from "zod";
import type { FileToolOptions } from "./files.ts";
import type { FileRoot } from "./roots.ts";

export interface FilesFile {
  readonly enabled?: boolean | undefined;
  readonly write?: boolean | undefined;
  readonly delete?: boolean | undefined;
  readonly roots?: Readonly<Record<string, FileRoot>> | undefined;
  readonly max_file_bytes?: number | undefined;
  readonly max_media_bytes?: number | undefined;
  readonly max_write_bytes?: number | undefined;
  readonly max_results?: number | undefined;
  readonly search_time_ms?: number | undefined;
  readonly hard_links?: boolean | undefined;
  readonly openat2?: boolean | undefined;
  readonly not_race_safe?: boolean | undefined;
}

/** The section in TypeScript's spelling, its paths absolute. */
export type FileSettings = Omit<FileToolOptions, "runs" | "outOfReach" | "notWritable">;

const maxBytes = 2 ** 30;
const bytes = z.int().min(1).max(maxBytes).optional();
const root = z.strictObject({
  path: z.string().min(1).describe("A folder that exists, relative to this file."),
  writable: z.boolean().optional().describe("Tools may change what is in it; false when nothing is said."),
});

export const filesSchema: z.ZodType<FilesFile> = z.strictObject({
  enabled: z.boolean().optional().describe("Offer tools that read, list and search files; false when nothing is said."),
  write: z.boolean().optional().describe("Offer tools that write, edit and move; false when nothing is said."),
  delete: z
    .boolean()
    .optional()
    .describe("Offer delete_file, which a rule must also name; false when nothing is said."),
  roots: z
    .record(
      z
        .string()
        .regex(
          /^(?!(?:workspace|deliverables|logs|archive)$)[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/,
          "Use 1 to 32 letters, digits, _ and -; workspace, deliverables, logs and archive are the run's own.",
        ),
      root,
    )
    .optional()
    .describe("Folders beside the run's own workspace and deliverables, by the name paths begin with."),
  max_file_bytes: bytes.describe("Text one read gives back at most; 200000 when nothing is said."),
  max_media_bytes: bytes.describe("Largest file that is no text and is given back; 10000000 when nothing is said."),
  max_write_bytes: bytes.describe("Largest file that is written or edited; 10000000 when nothing is said."),
  max_results: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe("Names or lines of one search; 1000 when nothing is said."),
  search_time_ms: z
    .int()
    .min(1)
    .max(600_000)
    .optional()
    .describe("What one search may take, in milliseconds; 10000 when nothing is said."),
  hard_links: z
    .boolean()
    .optional()
    .describe("Use files that have a second name, which may be elsewhere; false when nothing is said."),
  openat2: z.boolean().optional().describe("false: never use the package koffi, also where it is installed."),
  not_race_safe: z
    .boolean()
    .optional()
    .describe("Accept a system other than Linux, where folders can be swapped for links meanwhile."),
});

/** Undefined: the tools are off. */
export function fileSettingsFrom(file: FilesFile, base: string): FileSettings | undefined {
  return file.enabled === true ? fileOptionsFrom(file, base) : undefined;
}

/** The roots and limits, which tools that a provider defines have too. */
export function fileOptionsFrom(file: FilesFile, base: string): FileSettings {
  const roots = Object.entries(file.roots ?? {}).map(([name, { path, writable }]) => [
    name,
    { path: resolve(base, path), writable },
  ]);
  return {
    write: file.write,
    delete: file.delete,
    roots: Object.fromEntries(roots),
    maxFileBytes: file.max_file_bytes,
    maxMediaBytes: file.max_media_bytes,
    maxWriteBytes: file.max_write_bytes,
    maxResults: file.max_results,
    searchTimeMs: file.search_time_ms,
    hardLinks: file.hard_links,
    openat2: file.openat2,
    notRaceSafe: file.not_race_safe,
  };
}
