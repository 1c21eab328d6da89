/** The `files` section of a configuration file. Only packages/postern/src/config imports this: the tools themselves know no zod. */
import { resolve } from "node:path";
import type { CamelCased } from "@postern/core";
import { z } from "zod";
import type { FileToolOptions } from "./files.ts";

/** The options of the tools without those that the runtime sets. */
export type FileSettings = Omit<FileToolOptions, "runs" | "outOfReach" | "notWritable">;

const maxBytes = 2 ** 30;
const bytes = z.int().min(1).max(maxBytes).exactOptional();
const root = z.strictObject({
  path: z.string().min(1).describe("A folder that exists, relative to this file."),
  writable: z.boolean().exactOptional().describe("Tools may change what is in it. Default: false."),
});

export const filesSchema = z.strictObject({
  enabled: z.boolean().exactOptional().describe("Offer tools that read, list and search files. Default: false."),
  write: z.boolean().exactOptional().describe("Offer tools that write, edit and move. Default: false."),
  delete: z.boolean().exactOptional().describe("Offer delete_file, which a rule must also name. Default: false."),
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
    .exactOptional()
    .describe("Folders beside the run's own workspace and deliverables, by the name paths begin with."),
  max_file_bytes: bytes.describe("Text that one read returns at most. Default: 200000."),
  max_media_bytes: bytes.describe("Largest file that is no text and is returned. Default: 10000000."),
  max_write_bytes: bytes.describe("Largest file that is written or edited. Default: 10000000."),
  max_results: z.int().min(1).max(100_000).exactOptional().describe("Names or lines of one search. Default: 1000."),
  search_time_ms: z
    .int()
    .min(1)
    .max(600_000)
    .exactOptional()
    .describe("Time limit of one search in milliseconds. Default: 10000."),
  hard_links: z
    .boolean()
    .exactOptional()
    .describe("Use files that have a second name, which may be elsewhere. Default: false."),
  openat2: z.boolean().exactOptional().describe("false: never use the package koffi, also where it is installed."),
  not_race_safe: z
    .boolean()
    .exactOptional()
    .describe("Accept a system other than Linux, where folders can be swapped for links meanwhile."),
});

type FilesSection = CamelCased<z.output<typeof filesSchema>>;

/** Returns undefined if the tools are off. */
export function fileSettingsFrom(files: FilesSection, base: string): FileSettings | undefined {
  return files.enabled === true ? fileOptionsFrom(files, base) : undefined;
}

/** The roots and limits. Provider-defined tools use them too. */
export function fileOptionsFrom({ enabled: _enabled, roots = {}, ...rest }: FilesSection, base: string): FileSettings {
  const placed = Object.entries(roots).map(([name, root]) => [name, { ...root, path: resolve(base, root.path) }]);
  return { ...rest, roots: Object.fromEntries(placed) };
}
