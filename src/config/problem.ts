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

export type KeyPath = readonly (string | number)[];

export function keyText(path: KeyPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    const name = /^[\w-]+$/.test(step) ? step : JSON.stringify(step);
    return text === "" ? name : `${text}.${name}`;
  }, "");
}

/** The nearest known word, when it is near enough to be what was meant. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best?.name;
}

/** Levenshtein, with a swap of neighbours as one edit; words longer than 64 characters are nobody's typing mistake. */
function editDistance(one: string, other: string): number {
  if (one.length > 64 || other.length > 64) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, j) => j);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[other.length] ?? 0;
}
