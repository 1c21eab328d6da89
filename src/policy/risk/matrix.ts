import type { Autonomy, Risk, Verdict } from "../../calls/call.ts";
import { RuntimeFault } from "../../calls/fault.ts";
import { autonomies, parseRisk, risks, verdicts } from "../../calls/risk.ts";

/** SPEC 6.4: what autonomy × risk answers. Always all twenty cells. */
export type Matrix = Readonly<Record<Autonomy, Readonly<Record<Risk, Verdict>>>>;

/** Cells that replace the default ones; `low` is read as `safe` (C3). */
export type MatrixChanges = {
  readonly [A in Autonomy]?: { readonly [R in Risk | "low"]?: Verdict };
};

export const defaultMatrix: Matrix = {
  A0: { safe: "PREVIEW", medium: "PREVIEW", high: "PREVIEW", critical: "PREVIEW" },
  A1: { safe: "CONFIRM", medium: "CONFIRM", high: "CONFIRM", critical: "BLOCK" },
  A2: { safe: "ALLOW", medium: "CONFIRM", high: "CONFIRM", critical: "BLOCK" },
  A3: { safe: "ALLOW", medium: "ALLOW", high: "CONFIRM", critical: "BLOCK" },
  A4: { safe: "ALLOW", medium: "ALLOW", high: "ALLOW", critical: "CONFIRM" },
};

/** A pair that is not in the table is a BLOCK (SPEC 6.4), whoever made it up. */
export function cellOf(matrix: Matrix, autonomy: string, risk: string): Verdict {
  if (!isAutonomy(autonomy)) return "BLOCK";
  const row: Readonly<Record<string, Verdict>> = matrix[autonomy];
  return Object.hasOwn(row, risk) ? (row[risk] ?? "BLOCK") : "BLOCK";
}

export function isAutonomy(level: unknown): level is Autonomy {
  return autonomies.some((known) => known === level);
}

/**
 * The default table with some cells replaced. Two promises are not for sale by a cell: A0 never runs anything (C28),
 * and a critical call runs unasked only with `allowUnattendedCritical` (C5).
 *
 * @throws RuntimeFault `policy_invalid`, naming the level or the cell
 */
export function matrixOf(changes: MatrixChanges, allowUnattendedCritical: boolean): Matrix {
  const matrix = Object.fromEntries(autonomies.map((level) => [level, { ...defaultMatrix[level] }])) as Record<
    Autonomy,
    Record<Risk, Verdict>
  >; // made from all levels, each with all risks
  for (const [level, row] of Object.entries(changes)) {
    if (!isAutonomy(level)) throw invalid(`\`${level}\``, `no autonomy level; the levels are ${autonomies.join(", ")}`);
    const seen = new Set<Risk>();
    for (const [word, verdict] of Object.entries(row ?? {})) {
      const name = `\`${level}\` × \`${word}\``;
      const risk = parseRisk(word);
      if (risk === undefined) throw invalid(name, `no cell; the risks are ${risks.join(", ")}`);
      if (seen.has(risk)) throw invalid(name, "given twice, as `low` and as `safe`");
      seen.add(risk);
      matrix[level][risk] = checkedVerdict(verdict, name);
      if (level === "A0" && (verdict === "ALLOW" || verdict === "CONFIRM")) {
        throw invalid(name, `\`${verdict}\`, but A0 never runs anything; it takes PREVIEW or BLOCK`);
      }
      if (risk === "critical" && verdict === "ALLOW" && !allowUnattendedCritical) {
        throw invalid(name, "`ALLOW`; critical calls run unasked only with `allowUnattendedCritical`");
      }
    }
  }
  return matrix;
}

function checkedVerdict(verdict: unknown, name: string): Verdict {
  const known = verdicts.find((word) => word === verdict);
  if (known === undefined) throw invalid(name, `\`${String(verdict)}\`; a cell is one of ${verdicts.join(", ")}`);
  return known;
}

function invalid(name: string, what: string): RuntimeFault {
  return new RuntimeFault("policy_invalid", `In the matrix, ${name} is ${what}.`);
}
