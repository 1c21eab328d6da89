import type { Reason } from "../../calls/event.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { Preview } from "../../calls/outcome.ts";
import type { ApprovalWire, ViewerWire } from "../wire-approvals.ts";
import { type Paint, paintRisk } from "./terminal.ts";
import { duration, visible, visibleLines, whose } from "./text.ts";

/** The longest part of arguments or a diff that is shown before "… n more lines"; `--json` has all of it. */
const maxLines = 40;
/** The same for one line of them. */
const maxCharacters = 2000;

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
  if (request.reason !== undefined) row("it says", `${visible(request.reason)} (nobody has checked this)`);
  for (const [i, why] of request.why.entries()) row(i === 0 ? "because" : "", reasonText(why));
  if (request.summary !== undefined) row("tool says", visible(request.summary));
  block(lines, "arguments", argumentLines(given), paint);
  if (request.edited !== undefined) row("edited by", visible(request.edited.by));
  if (request.asked !== undefined) block(lines, "asked for", argumentLines(request.asked), paint);
  if (request.preview !== undefined) block(lines, "preview", previewLines(request.preview, paint), paint);
  for (const [i, text] of decidersOf(request).entries()) row(i === 0 ? "decided by" : "", text);
  if (request.status === "pending" && request.viewer?.message !== undefined) row("you", youMay(request.viewer));
  row("time left", timeLeft(request, now));
  return `${lines.join("\n")}\n`;
}

function askedBy({ requested_by: { agent, user }, refs }: ApprovalWire): string {
  return visible(`${whose({ agent, user })}, run ${refs.run}`);
}

/** Only of who may not simply say yes. */
function youMay({ may, message = "" }: ViewerWire): string {
  return visible(may.length === 0 ? message : `may ${may.join(", ")} only: ${message}`);
}

/** Who is asked and what their yes must bring, when that is anything special; and who has said a word. */
function decidersOf({ routed, votes, quorum_left: left, status }: ApprovalWire): readonly string[] {
  const { roles = [], groups = [], users = [] } = routed.to;
  const names = [...users, ...roles.map((role) => `role ${role}`), ...groups.map((group) => `group ${group}`)];
  const lines = names.length === 0 ? [] : [`${names.join(", ")} (${routed.rule})`];
  if (routed.quorum > 1)
    lines.push(`${routed.quorum} persons${status === "pending" ? `, ${left} more to say yes` : ""}`);
  if (routed.typed_confirmation && status === "pending") lines.push("whoever types the tool's name (--confirm)");
  if (routed.quorum > 1)
    for (const { as, by, on_behalf_of: giver, lapsed } of votes) {
      const over = lapsed === undefined ? "" : ` (counts no more: ${lapsed})`;
      lines.push(`${by}${giver === undefined ? "" : ` for ${giver}`}: ${as}${over}`);
    }
  return lines.map(visible);
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

export function previewLines(
  { summary, diff, problem, table: rows, message }: Preview,
  paint: Paint,
): readonly string[] {
  const colour = (line: string): string =>
    line.startsWith("+") ? paint("green", line) : line.startsWith("-") ? paint("red", line) : line;
  const trouble = problem === undefined ? [] : [`(no preview: ${visible(problem)})`];
  return [
    ...visibleLines(summary),
    ...trouble,
    ...(diff === undefined ? [] : visibleLines(diff).map(colour)),
    ...(rows === undefined ? [] : [rows.columns, ...rows.rows].map((cells) => cells.map(visible).join("  |  "))),
    ...(message === undefined ? [] : messageLines(message)),
  ];
}

function messageLines({ to = [], subject, body }: NonNullable<Preview["message"]>): readonly string[] {
  const head = [
    ...(to.length > 0 ? [`To: ${to.join(", ")}`] : []),
    ...(subject === undefined ? [] : [`Subject: ${subject}`]),
  ];
  return [...head.map(visible), ...visibleLines(body)];
}

function block(lines: string[], name: string, inner: readonly string[], paint: Paint): void {
  for (const [i, line] of inner.slice(0, maxLines).entries())
    lines.push(`  ${paint("dim", (i === 0 ? name : "").padEnd(10))} ${clipped(line)}`);
  if (inner.length > maxLines)
    lines.push(`  ${"".padEnd(10)} … ${inner.length - maxLines} more lines (--json shows all)`);
}

function clipped(line: string): string {
  const more = line.length - maxCharacters;
  return more <= 0 ? line : `${line.slice(0, maxCharacters)} … ${more} more characters (--json shows all)`;
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
