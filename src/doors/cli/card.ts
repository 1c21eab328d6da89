import type { Reason } from "../../calls/event.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { Preview } from "../../calls/outcome.ts";
import type { ApprovalWire } from "../wire.ts";
import { type Paint, paintRisk } from "./terminal.ts";
import { duration, visible, visibleLines } from "./text.ts";

/** The longest part of arguments or a diff that is shown before "… n more lines"; `--json` has all of it. */
const maxLines = 40;

/**
 * One approval as a person reads it before deciding: what would run, why they are asked, what it would do, how long
 * they have and what silence means.
 */
export function approvalCard(request: ApprovalWire, now: number, paint: Paint): string {
  const { tool, action, arguments: given } = request.what;
  const lines = [
    `${paint("bold", visible(tool))}${action === "default" ? "" : ` · ${visible(action)}`}   risk ${paintRisk(paint, request.risk_level)}`,
  ];
  const row = (name: string, text: string): void => void lines.push(`  ${paint("dim", name.padEnd(10))} ${text}`);
  row("approval", visible(request.approval_id));
  row("asked by", askedBy(request));
  for (const [i, why] of request.why.entries()) row(i === 0 ? "because" : "", reasonText(why));
  if (request.summary !== undefined) row("tool says", visible(request.summary));
  block(lines, "arguments", argumentLines(given), paint);
  if (request.preview !== undefined) block(lines, "preview", previewLines(request.preview, paint), paint);
  row("time left", timeLeft(request, now));
  return `${lines.join("\n")}\n`;
}

function askedBy({ requested_by: { agent, user }, refs }: ApprovalWire): string {
  return visible(`${agent}${user === undefined ? "" : ` for ${user}`}, run ${refs.run}`);
}

export function reasonText({ rule, says, where }: Reason): string {
  return visible(`${rule} → ${says}${where === undefined ? "" : ` (${where})`}`);
}

function argumentLines(given: JsonObject): readonly string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const [first = "", ...rest] = visibleLines(typeof value === "string" ? value : JSON.stringify(value, undefined, 2));
    return rest.length === 0
      ? [`${visible(name)} = ${first}`]
      : [`${visible(name)} =`, ...[first, ...rest].map((line) => `  ${line}`)];
  });
}

export function previewLines({ summary, diff, problem }: Preview, paint: Paint): readonly string[] {
  const colour = (line: string): string =>
    line.startsWith("+") ? paint("green", line) : line.startsWith("-") ? paint("red", line) : line;
  const trouble = problem === undefined ? [] : [`(no preview: ${visible(problem)})`];
  return [...visibleLines(summary), ...trouble, ...(diff === undefined ? [] : visibleLines(diff).map(colour))];
}

function block(lines: string[], name: string, inner: readonly string[], paint: Paint): void {
  for (const [i, line] of inner.slice(0, maxLines).entries())
    lines.push(`  ${paint("dim", (i === 0 ? name : "").padEnd(10))} ${line}`);
  if (inner.length > maxLines)
    lines.push(`  ${"".padEnd(10)} … ${inner.length - maxLines} more lines (--json shows all)`);
}

function timeLeft({ status, decision, expires_at }: ApprovalWire, now: number): string {
  if (status !== "pending") {
    const by =
      decision === undefined ? "" : ` by ${decision.by}${decision.reason === undefined ? "" : ` (${decision.reason})`}`;
    return visible(`over: ${status}${by}`);
  }
  const left = Date.parse(expires_at) - now;
  return left <= 0
    ? "over: expired, nothing runs"
    : `${duration(left)}; after that the call is denied and nothing runs`;
}
