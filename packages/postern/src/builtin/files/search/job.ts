import type { FileRules } from "../guard/folder.ts";
import type { RejectionReason } from "../guard/rejection.ts";

/** The request to a search thread. Descriptors belong to the whole process, so the thread gets the number of the root's. */
export interface SearchJob {
  readonly root: ({ readonly descriptor: number } | { readonly path: string }) & { readonly rules: FileRules };
  /** Where to begin, beneath the root. */
  readonly start: readonly string[];
  /** The root's name: the paths of the answer begin with it. */
  readonly shown: string;
  /** Also files that `.gitignore` leaves out, and `.git` itself. */
  readonly includeIgnored: boolean;
  readonly maxResults: number;
  /** After this time it stops by itself and returns what it found. */
  readonly softLimitMs: number;
  readonly task: ListTask | GlobTask | GrepTask;
}

export interface ListTask {
  readonly kind: "list";
  /** 1 means the folder itself. */
  readonly depth: number;
}

export interface GlobTask {
  readonly kind: "glob";
  readonly pattern: string;
}

export interface GrepTask {
  readonly kind: "grep";
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  /** A glob for the path from the start. */
  readonly files: string | undefined;
}

/** What is in a folder. Its path begins with its root. */
export interface ListedEntry {
  readonly path: string;
  readonly type: "file" | "folder" | "link" | "other";
  readonly bytes?: number;
}

export interface GrepMatch {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** Why the result is not complete. */
export type Truncated = "results" | "time" | "depth";

export interface SearchResult {
  readonly entries: readonly ListedEntry[];
  readonly paths: readonly string[];
  readonly matches: readonly GrepMatch[];
  readonly files: number;
  readonly truncated: Truncated | undefined;
  /** How many were skipped, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

export type SearchAnswer =
  | { readonly ready: true }
  | { readonly found: SearchResult }
  | { readonly rejected: RejectionReason; readonly detail: string }
  | { readonly broken: string };
