import type { z } from "zod";
import { type JsonSchemaKeys, type KeyPath, schemaProblems } from "../core/schema-problems.ts";

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
export function problemLine(problem: ConfigProblem): string {
  const place =
    problem.line === undefined ? problem.source : `${problem.source}:${problem.line}:${problem.column ?? 1}`;
  const key = problem.key === "" ? "" : ` ${problem.key}`;
  return `${place}${key}: ${problem.message} Fix: ${problem.fix}`;
}

/** Thrown by `loadConfig` only: every mistake of a configuration at once, so that one run tells all of them. */
export class ConfigProblems extends Error {
  override readonly name = "ConfigProblems";
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(problemLine).join("\n"));
    this.problems = problems;
  }

  /** Nothing but flags is wrong: the command was typed wrong. */
  get isTyping(): boolean {
    return this.problems.every(({ source }) => source === "command line");
  }
}

/** Where a path stands; without a file there is no line to name. */
export type Locate = (
  path: KeyPath,
  part: "key" | "value",
) => { readonly source: string; readonly line?: number; readonly column?: number };

const renamedKeys: ReadonlyMap<string, string> = new Map([["chains.drivers", "chains.engine_settings"]]);

/** @throws ConfigProblems with every mistake */
export function parseChecked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  {
    keys,
    locate,
    isCode = false,
  }: { readonly keys: () => JsonSchemaKeys; readonly locate: Locate; readonly isCode?: boolean },
): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const language = isCode ? "code" : "file";
  const problems = schemaProblems(parsed.error.issues, { value, schema: keys(), language, renamedKeys });
  throw new ConfigProblems(problems.map(({ path, part, ...rest }) => ({ ...locate(path, part), ...rest })));
}
