import {
  actionText,
  duration,
  type JsonObject,
  type Preview,
  type Reason,
  reasonsToShow,
  reasonWords,
} from "@postern/core";
import type { ApprovalView, ArtifactView, ViewerView } from "@postern/core/contract";
import { type Paint, paintRisk } from "./terminal.ts";
import { actorText, relative, type Sheet, visible, visibleLines, whose, wrap } from "./text.ts";

/** One line of content, before it is laid out. */
interface CardLine {
  readonly text: string;
  readonly style?: "red" | "green";
}

/** Every line of a card begins with it: text of others never begins in column 0. */
const margin = "│ ";
const labelColumns = 11;
/** The text is never narrower. */
const leastColumns = 20;

/** One request as a person reads it before deciding: what would run, why they are asked, what it would do, how long they have. */
export function approvalCard(request: ApprovalView, now: number, sheet: Sheet): string {
  return `${cardLines(request, now, sheet).join("\n")}\n`;
}

/** One entry for each line of the screen. Nothing is left out, and no text of others begins a line. */
export function cardLines(request: ApprovalView, now: number, { paint, terminal }: Sheet): readonly string[] {
  const columns = Math.max(leastColumns, terminal.columns - margin.length - labelColumns);
  const lines = titleLines(request, columns + labelColumns, paint);
  const block = (label: string, content: readonly CardLine[]): void => {
    for (const [i, { text, style }] of content.entries())
      for (const [at, line] of wrap(text, columns).entries()) {
        const name = paint("dim", (i === 0 && at === 0 ? label : "").padEnd(labelColumns));
        lines.push(name + (style === undefined ? line : paint(style, line)));
      }
  };
  const row = (label: string, text: string): void => block(label, [{ text }]);
  const { arguments: given, artifacts = [] } = request.what;
  row("approval", visible(request.approval_id));
  row("asked by", askedBy(request));
  if (request.reason !== undefined) row("it says", `${visible(request.reason)} (not checked)`);
  for (const [i, why] of reasonsToShow(request.why).entries()) row(i === 0 ? "because" : "", reasonText(why));
  if (request.summary !== undefined) row("tool says", visible(request.summary));
  block("arguments", argumentLines(given));
  for (const artifact of artifacts) block("holds", artifactLines(artifact));
  if (request.edited !== undefined) row("edited by", visible(actorText(request.edited.by, request.edited.via)));
  if (request.asked !== undefined) block("asked for", argumentLines(request.asked));
  if (request.preview !== undefined) {
    block("preview", visibleLines(request.preview.summary).map(plain));
    for (const [label, content] of previewParts(request.preview)) block(label, content);
  }
  if (request.preview_binds === false) row("", "this preview may differ when the call runs");
  for (const { by, via, at, text } of request.comments ?? []) {
    const author = `${actorText(by, via)}, ${relative(Date.parse(at), now)}:`;
    block(
      "comment",
      [author, ...visibleLines(text)].map((one, i) => plain(i === 0 ? visible(one) : `  ${one}`)),
    );
  }
  for (const [i, text] of decidersOf(request, now).entries()) row(i === 0 ? "decided by" : "", text);
  if (request.status === "pending" && request.viewer?.message !== undefined) row("you", youMay(request.viewer));
  row(request.status === "pending" ? "time left" : "ended", timeLeft(request, now));
  return lines.map((line) => margin + line);
}

function titleLines({ what, risk_level: risk }: ApprovalView, columns: number, paint: Paint): string[] {
  const riskText = `   risk ${paintRisk(paint, risk)}`;
  const lines = wrap(visible(actionText(what)), columns - `   risk ${risk}`.length).map((line) => paint("bold", line));
  return lines.map((line, i) => (i === 0 ? line + riskText : line));
}

function askedBy({ requested_by: { agent, user }, refs }: ApprovalView): string {
  return visible(`${whose({ agent, user })}, run ${refs.run}`);
}

/** Only for a viewer who may not simply approve. */
function youMay({ may, message = "" }: ViewerView): string {
  return visible(may.length === 0 ? message : `may ${may.join(", ")} only: ${message}`);
}

/** Who is asked, how many must approve, and who has voted. */
function decidersOf(request: ApprovalView, now: number): readonly string[] {
  const { routed, votes, quorum_left: left, status } = request;
  const names = namesIn(routed.to);
  const lines = names === "" ? [] : [`${names} (${routed.rule})`];
  const more = escalation(request, now);
  if (more !== undefined) lines.push(more);
  if (routed.quorum > 1)
    lines.push(`${routed.quorum} people${status === "pending" ? `, ${left} of them must still approve` : ""}`);
  if (routed.typed_confirmation && status === "pending")
    lines.push("an approver who types the tool's name (--confirm)");
  if (routed.quorum > 1) for (const { as, by, via } of votes) lines.push(`${actorText(by, via)}: ${as}`);
  return lines.map(visible);
}

/** Who else is asked if no answer comes, and whether they were. */
function escalation({ routed, escalated_at: at, status }: ApprovalView, now: number): string | undefined {
  const others = namesIn(routed.escalate_to ?? {}) || "every approver";
  if (at !== undefined) return `${others} too: no answer came, and they were asked ${relative(Date.parse(at), now)}`;
  if (routed.escalate_at === undefined || status !== "pending") return undefined;
  return `${others} too, if no answer comes in ${duration(Math.max(0, Date.parse(routed.escalate_at) - now))}`;
}

function namesIn({ users = [], roles = [], groups = [] }: ApprovalView["routed"]["to"]): string {
  return [...users, ...roles.map((role) => `role ${role}`), ...groups.map((group) => `group ${group}`)].join(", ");
}

export function reasonText(reason: Reason): string {
  const { where } = reason;
  return visible(`${reasonWords(reason)}${where === undefined ? "" : ` (${where})`}`);
}

function argumentLines(given: JsonObject): readonly CardLine[] {
  return Object.entries(given)
    .flatMap(([name, value]) => {
      const [first = "", ...rest] = visibleLines(
        typeof value === "string" ? value : JSON.stringify(value, undefined, 2),
      );
      return rest.length === 0
        ? [`${visible(name)} = ${first}`]
        : [`${visible(name)} =`, ...[first, ...rest].map((line) => `  ${line}`)];
    })
    .map(plain);
}

/** The artifact of a reference in the arguments. */
function artifactLines({ path, bytes, text }: ArtifactView): readonly CardLine[] {
  if (text === undefined) return [plain(`${visible(path)}: ${bytes} bytes, too large to look at`)];
  return [`${visible(path)}:`, ...visibleLines(text).map((line) => `  ${line}`)].map(plain);
}

/** All of a preview but its summary. */
export function previewDetails(preview: Partial<Preview>, paint: Paint): readonly string[] {
  return previewParts(preview).flatMap(([, content]) =>
    content.map(({ text, style }) => (style === undefined ? text : paint(style, text))),
  );
}

/** Each part under its own label, so that none can look like another. */
function previewParts({
  diff,
  problem,
  table: rows,
  message,
  details,
}: Partial<Preview>): readonly (readonly [label: string, content: readonly CardLine[]])[] {
  return [
    ...(problem === undefined ? [] : [["", [plain(`(no preview: ${visible(problem)})`)]] as const]),
    ...(message === undefined ? [] : [["message", messageLines(message).map(plain)] as const]),
    ...(diff === undefined ? [] : [["diff", visibleLines(diff).map(diffLine)] as const]),
    ...(rows === undefined ? [] : [["table", [rows.columns, ...rows.rows].map(cellsLine)] as const]),
    ...(details === undefined
      ? []
      : [["details", visibleLines(JSON.stringify(details, undefined, 2)).map(plain)] as const]),
  ];
}

function plain(text: string): CardLine {
  return { text };
}

function diffLine(text: string): CardLine {
  return text.startsWith("+") ? { text, style: "green" } : text.startsWith("-") ? { text, style: "red" } : { text };
}

function cellsLine(cells: readonly string[]): CardLine {
  return { text: cells.map(visible).join("  |  ") };
}

function messageLines({ to = [], subject, body }: NonNullable<Preview["message"]>): readonly string[] {
  const head = [
    ...(to.length > 0 ? [`To: ${to.join(", ")}`] : []),
    ...(subject === undefined ? [] : [`Subject: ${subject}`]),
  ];
  return [...head.map(visible), ...visibleLines(body).map((line) => `  ${line}`)];
}

function timeLeft({ status, decision, expires_at }: ApprovalView, now: number): string {
  if (status !== "pending") {
    const by =
      decision === undefined
        ? ""
        : ` by ${actorText(decision.by, decision.via)}${decision.reason === undefined ? "" : `: ${decision.reason}`}`;
    return visible(`${status}${by}`);
  }
  const left = Date.parse(expires_at) - now;
  return left <= 0
    ? "none: it has expired, and nothing runs"
    : `${duration(left)}; after that the call is denied and nothing runs`;
}
