import type { FileRules } from "../guard/folder.ts";
import type { RejectionReason } from "../guard/rejection.ts";

/** What a search thread is asked. Descriptors belong to the whole process: the thread is lent the root's number. */
export interface SearchJob {
  readonly root: ({ readonly descriptor: number } | { readonly path: string }) & { readonly rules: FileRules };
  /** Where to begin, beneath the root. */
  readonly start: readonly string[];
  /** What the paths of the answer begin with: the root's name. */
  readonly shown: string;
  /** Files that `.gitignore` leaves out, and `.git` itself. */
  readonly includeIgnored: boolean;
  readonly maxResults: number;
  /** After so long it stops by itself, with what it has. */
  readonly softLimitMs: number;
  readonly task: ListTask | GlobTask | GrepTask;
}

export interface ListTask {
  readonly kind: "list";
  /** 1: what is in the folder itself. */
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
  /** Only files whose path from the start fits. */
  readonly files: string | undefined;
  /** One of so many threads, each with its share of the files. */
  readonly share: { readonly number: number; readonly of: number };
}

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

/** Why what was found is not all there is. */
export type Truncated = "results" | "time" | "depth";

export interface SearchResult {
  readonly entries: readonly ListedEntry[];
  readonly paths: readonly string[];
  readonly matches: readonly GrepMatch[];
  readonly files: number;
  readonly truncated: Truncated | undefined;
  /** How many were passed over, by why. */
  readonly skipped: Readonly<Record<string, number>>;
}

export type SearchAnswer =
  | { readonly ready: true }
  | { readonly found: SearchResult }
  | { readonly rejected: RejectionReason; readonly detail: string }
  | { readonly broken: string };
