import {
  type ApprovalRecord,
  codeOf,
  duration,
  type JsonObject,
  reasonsToShow,
  reasonWords,
  withHiddenShown,
} from "@postern/core";
import { shownArguments } from "../../approvals/binding.ts";
import type { CallEnd, Notice, NoticeType } from "./channel.ts";
import type { NoticeFormat, WebhookDependencies, WebhookOptions } from "./webhook.ts";

/** Limits of Slack's blocks. */
const mostHeaderCharacters = 150;
const mostTextCharacters = 2_800;
const mostReasons = 5;

/**
 * A message for an incoming webhook of Slack or a compatible service. Texts of tools and agents are plain text, so they
 * cannot hold markup, a mention or a link. A critical call has no button.
 */
export function slackFormat(
  dependencies: Pick<WebhookDependencies, "clock" | "redact">,
  options: Pick<WebhookOptions, "arguments">,
): NoticeFormat {
  return (notice) => ({ body: JSON.stringify(slackMessage(notice, dependencies, options)), headers: {} });
}

/** @param buttons before the one that leads to the console */
export function slackMessage(
  notice: Notice,
  { clock, redact }: Pick<WebhookDependencies, "clock" | "redact">,
  { arguments: withArguments }: Pick<WebhookOptions, "arguments">,
  buttons: readonly JsonObject[] = [],
): JsonObject {
  const { approval } = notice;
  const blocks =
    approval === undefined
      ? alarmBlocks(notice)
      : approvalBlocks({ ...notice, approval }, clock.now(), withArguments === true);
  const links = linkBlocks(notice, buttons);
  return { ...redact({ ...textPart(titleOf(notice)), blocks: [...blocks, ...links] }) };
}

/** A line of a thread: how the request was decided, or how its call ended. */
export function slackReply(
  notice: Notice,
  { clock, redact }: Pick<WebhookDependencies, "clock" | "redact">,
): JsonObject {
  const { approval, end, summary } = notice;
  const line = end !== undefined ? endLine(end) : approval === undefined ? summary : statusLine(approval, clock.now());
  return redact({ ...textPart(line), blocks: [plain(line)] });
}

function textPart(text: string): JsonObject {
  return { text: escaped(text), mrkdwn: false, unfurl_links: false };
}

const endWords = { ok: "Ran ok", failed: "Failed", unknown: "Unknown: it may have happened" } as const;

function endLine({ as, durationMs }: CallEnd): string {
  return durationMs === undefined ? endWords[as] : `${endWords[as]}, after ${duration(durationMs)}`;
}

/** For places where Slack reads markup: only `&`, `<` and `>` can make a link or a mention. */
export function escaped(text: string): string {
  return shown(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A person decides by this text, so no character hides, reorders or imitates another. */
function shown(text: string): string {
  return withHiddenShown(text, (part) => (part.text === "\n" ? "\n" : codeOf(part)));
}

/** What stands before the tool of an approval, or before the summary of an alarm. */
const titles: Readonly<Record<Exclude<NoticeType, "approval.decided" | "call.ended">, string>> = {
  "approval.requested": "Approval needed: ",
  "approval.edited": "Edited, and still waiting: ",
  "approval.expiring": "Still waiting: ",
  "approval.escalated": "Escalated to you: ",
  "alarm.opened": "Alarm: ",
  "alarm.resolved": "",
  "channel.test": "",
};

function titleOf({ type, approval, end, summary }: Notice): string {
  const tool = approval === undefined ? "" : nameOf(approval);
  if (type === "call.ended") return end === undefined ? summary : `${tool}: ${endLine(end)}`;
  if (type === "approval.decided") return `${tool}: ${approval?.decision?.as ?? "decided"}`;
  return `${titles[type]}${type.startsWith("approval.") ? tool : summary}`;
}

function nameOf({ tool, action }: ApprovalRecord): string {
  return action === "default" ? tool : `${tool}.${action}`;
}

type ApprovalNotice = Notice & { readonly approval: ApprovalRecord };

function approvalBlocks(notice: ApprovalNotice, now: number, withArguments: boolean): JsonObject[] {
  const { approval } = notice;
  const { risk, principal, runId, why, summary, reason } = approval;
  const who = `${principal.agent}${principal.user === undefined ? "" : ` for ${principal.user}`}`;
  const lines = [
    `Risk: ${risk}`,
    `Asked by: ${who}, run ${runId}`,
    ...reasonsToShow(why)
      .slice(0, mostReasons)
      .map((one) => `Because: ${reasonWords(one)}`),
    ...(summary === undefined ? [] : [`The tool says: ${summary}`]),
    ...(reason === undefined ? [] : [`The agent says (not verified): ${reason}`]),
    statusLine(approval, now),
  ];
  return [
    header(titleOf(notice)),
    plain(lines.join("\n")),
    ...(withArguments ? [plain(JSON.stringify(shownArguments(approval), undefined, 2))] : []),
  ];
}

/** How long it still waits, or how it was decided. */
function statusLine({ state, expiresAt, decision }: ApprovalRecord, now: number): string {
  if (state === "pending") {
    const leftMinutes = Math.max(0, Math.round((expiresAt - now) / 60_000));
    const until = new Date(expiresAt).toISOString().slice(0, 16).replace("T", " ");
    return `${leftMinutes} min left, until ${until} UTC; then it is denied`;
  }
  if (decision === undefined) return state;
  const { as, by, reason } = decision;
  return `${as} by ${by}${reason === undefined ? "" : `: ${reason}`}`;
}

function alarmBlocks(notice: Notice): JsonObject[] {
  const { severity, count } = notice.data;
  const lines = [
    notice.summary,
    ...(typeof severity === "string" ? [`Severity: ${severity}`] : []),
    ...(typeof count === "number" && count > 1 ? [`${count} times`] : []),
  ];
  return [header(titleOf(notice)), plain(lines.join("\n"))];
}

function linkBlocks({ link, approval }: Notice, buttons: readonly JsonObject[]): JsonObject[] {
  const isPending = approval?.state === "pending";
  if (isPending && approval.risk === "critical") {
    const where = link === undefined ? "in the console" : `<${escaped(link)}|in the console>`;
    return [{ type: "section", text: { type: "mrkdwn", text: `This call is critical: decide it ${where}.` } }];
  }
  const label = isPending && buttons.length === 0 ? "Decide in Postern" : "Open in Postern";
  const elements = link === undefined ? buttons : [...buttons, { ...button(label, "open"), url: link }];
  return elements.length === 0 ? [] : [{ type: "actions", elements }];
}

export function button(label: string, action: string): JsonObject {
  return { type: "button", action_id: action, text: { type: "plain_text", text: label } };
}

function header(text: string): JsonObject {
  return {
    type: "header",
    text: { type: "plain_text", emoji: false, text: shownStart(text.replaceAll("\n", " "), mostHeaderCharacters) },
  };
}

function plain(text: string): JsonObject {
  return { type: "section", text: { type: "plain_text", emoji: false, text: shownStart(text, mostTextCharacters) } };
}

/** Only the part that fits is converted, because no character gets shorter. */
function shownStart(text: string, most: number): string {
  const start = shown(text.slice(0, most + 1));
  return start.length <= most ? start : `${start.slice(0, most - 1).toWellFormed()}…`;
}
