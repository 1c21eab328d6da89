import { type Autonomy, autonomies, parseRisk, type Risk, type RuntimeFault, type Verdict } from "@postern/core";
import { invalid } from "../problem.ts";
import type { MatrixChanges } from "../schema.ts";

/** The verdict for each autonomy level and risk. It always has all twenty cells. */
export type Matrix = Readonly<Record<Autonomy, Readonly<Record<Risk, Verdict>>>>;

export const defaultMatrix: Matrix = {
  A0: { safe: "PREVIEW", medium: "PREVIEW", high: "PREVIEW", critical: "PREVIEW" },
  A1: { safe: "CONFIRM", medium: "CONFIRM", high: "CONFIRM", critical: "BLOCK" },
  A2: { safe: "ALLOW", medium: "CONFIRM", high: "CONFIRM", critical: "BLOCK" },
  A3: { safe: "ALLOW", medium: "ALLOW", high: "CONFIRM", critical: "BLOCK" },
  A4: { safe: "ALLOW", medium: "ALLOW", high: "ALLOW", critical: "CONFIRM" },
};

/** An unknown pair is a BLOCK. */
export function cellOf(matrix: Matrix, autonomy: string, risk: string): Verdict {
  if (!isAutonomy(autonomy)) return "BLOCK";
  const row: Readonly<Record<string, Verdict>> = matrix[autonomy];
  return Object.hasOwn(row, risk) ? (row[risk] ?? "BLOCK") : "BLOCK";
}

export function isAutonomy(level: unknown): level is Autonomy {
  return autonomies.some((known) => known === level);
}

/**
 * The default table with some cells replaced. No cell may let A0 run anything, and a critical call runs unasked only with
 * `allowUnattendedCritical`.
 *
 * @throws RuntimeFault `policy_invalid`, naming the level or the cell
 */
export function matrixOf(changes: MatrixChanges, allowUnattendedCritical: boolean): Matrix {
  const matrix = structuredClone(defaultMatrix) as Record<Autonomy, Record<Risk, Verdict>>; // a copy may be changed
  for (const level of autonomies) {
    const row = changes[level] ?? {};
    for (const [word, verdict] of Object.entries(row)) {
      const name = `\`${level}\` × \`${word}\``;
      if (level === "A0" && (verdict === "ALLOW" || verdict === "CONFIRM"))
        throw refused(name, `\`${verdict}\`, but A0 never runs anything; it takes PREVIEW or BLOCK`);
      if (word === "critical" && verdict === "ALLOW" && !allowUnattendedCritical)
        throw refused(name, "`ALLOW`; critical calls run unasked only with `allowUnattendedCritical`");
      matrix[level][parseRisk(word) ?? "critical"] = verdict; // the schema has checked the risk
    }
  }
  return matrix;
}

function refused(name: string, what: string): RuntimeFault {
  return invalid(`In the matrix, ${name} is ${what}.`);
}
