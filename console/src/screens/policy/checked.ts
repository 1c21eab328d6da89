/** What is wrong with a policy's text, by its lines in the file, and what became of its own tests. */
import type { TestResult } from "@postern/core/contract";
import { ask, Problem, type Sent } from "../../api/index.ts";
import { type Mistake, mistakeOf } from "./mistakes.ts";

export interface Checked {
  readonly mistakes: readonly Mistake[];
  readonly tests: readonly TestResult[];
}

/** Asks the server. While it does not answer, nothing is known to be wrong. */
export async function check(configuration: Sent<"POST /v1/policy/test">["configuration"]): Promise<Checked> {
  const { name } = configuration;
  try {
    const { results, warnings } = await ask("POST /v1/policy/test", { configuration });
    const mistakes = warnings.map(({ message, where }) => mistakeOf(`${where ?? ""} ${message}`, name, "warning"));
    return { mistakes, tests: results };
  } catch (error) {
    const isRefused = error instanceof Problem && error.code === "policy_refused";
    const lines = isRefused ? error.message.split("\n") : [];
    return { mistakes: lines.map((line) => mistakeOf(line, name, "error")), tests: [] };
  }
}
