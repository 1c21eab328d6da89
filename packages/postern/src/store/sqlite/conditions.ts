/** Conditions of SQL, from the filters of lists and counts. */
import type { SQLInputValue } from "node:sqlite";
import { likePatterns } from "../search-text.ts";
import type { WaitingFilter } from "../store.ts";

type Values = readonly (SQLInputValue | undefined)[];
/** A condition with an undefined value is left out. */
export type SqlCondition = readonly [sql: string, ...values: Values];

/** Of the columns that `approval` and `waiting` have in common. */
export function conditionsOf(where: WaitingFilter): readonly SqlCondition[] {
  const { tenant, risk, tool, agent, runId, principal } = where;
  return [
    ["tenant = ?", tenant],
    ["risk = ?", risk],
    ["tool = ?", tool],
    ["agent = ?", agent],
    ["run = ?", runId],
    ["tenant = ?", principal?.tenant],
    ["agent = ?", principal?.agent],
    ["user is ?", principal && (principal.user ?? null)],
  ];
}

/** Each word occurs in one of the columns, or may. */
export function wordConditions(words: readonly string[], columns: readonly string[]): readonly SqlCondition[] {
  const either = columns.map((column) => `${column} like ? escape '!'`).join(" or ");
  return likePatterns(words).map((pattern) => [`(${either})`, ...columns.map(() => pattern)]);
}

/** Joins the conditions whose values are present. */
export function whole(conditions: readonly SqlCondition[]): {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
} {
  const wanted = conditions.filter(([, ...values]) => !values.includes(undefined));
  return {
    sql: wanted.map(([sql]) => sql).join(" and ") || "1",
    values: wanted.flatMap(([, ...values]) => values).filter((value) => value !== undefined),
  };
}
