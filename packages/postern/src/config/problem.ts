import type { KeyPath } from "../checks/schema-problems.ts";

/** One mistake in a configuration: where it is, what is there, and what to write instead. */
export interface ConfigProblem {
  /** A file, `environment` or `command line`. */
  readonly source: string;
  /** From 1. */
  readonly line?: number;
  readonly column?: number;
  /** `policy.rules[0].effect`; empty for the file as a whole. */
  readonly key: string;
  /** What is wrong, with the value. */
  readonly message: string;
  readonly fix: string;
}

/** `postern.yaml:12:5 policy.rules[0].effect: … Fix: …` */
export function problemLine({ source, line, column = 1, key, message, fix }: ConfigProblem): string {
  const place = line === undefined ? source : `${source}:${line}:${column}`;
  return `${place}${key === "" ? "" : ` ${key}`}: ${message} Fix: ${fix}`;
}

/** Holds every mistake of a configuration, so that one run shows all of them. */
export class ConfigProblems extends Error {
  override readonly name = "ConfigProblems";
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(problemLine).join("\n"));
    this.problems = problems;
  }

  /** For one mistake. Without a `key` it is about the file as a whole. */
  static of(problem: Omit<ConfigProblem, "key"> & { readonly key?: string }): ConfigProblems {
    return new ConfigProblems([{ key: "", ...problem }]);
  }

  /** Only flags are wrong: the command was mistyped. */
  get isTyping(): boolean {
    return this.problems.every(({ source }) => source === "command line");
  }
}

/** Finds the place of a path in its file. Without a file there is no line. */
export type Locate = (
  path: KeyPath,
  part: "key" | "value",
) => { readonly source: string; readonly line?: number; readonly column?: number };
