import { type ApprovalRecord, type Clock, defined, type JsonObject } from "@postern/core";
import { type Resolve, targetOf } from "@postern/core/system";
import { shownArguments, shownDigest } from "../../approvals/binding.ts";
import type { Channel, Delivered, Notice, NoticeType } from "./channel.ts";
import { type Posted, post } from "./send.ts";
import { fewestKeyBytes, keyFrom, sign } from "./signature.ts";

export interface WebhookOptions {
  readonly name: string;
  /** May hold `secret://connector/key`. */
  readonly url: string;
  /** The signing key: `secret://connector/key`. Not for `slack`. */
  readonly secret?: string;
  readonly kind?: "standard" | "slack";
  /** Default: all. */
  readonly events?: readonly NoticeType[];
  /** Default: all. */
  readonly tenants?: readonly string[];
  /** Allows a machine of this network, also over http. */
  readonly allowPrivate?: boolean;
  /** Whether notices hold the arguments, masked. Another server reads them. */
  readonly arguments?: boolean;
}

export interface WebhookDependencies {
  readonly clock: Clock;
  /** Replaces references by values, at each try, because secrets change. */
  readonly reveal: (text: string) => Promise<string>;
  readonly redact: (value: JsonObject) => JsonObject;
  readonly resolve?: Resolve;
}

export type NoticeFormat = (notice: Notice, secret: string | undefined) => Posted | { readonly problem: string };

/** One HTTP POST a notice. */
export function webhookChannel(
  options: WebhookOptions,
  dependencies: WebhookDependencies,
  format: NoticeFormat,
): Channel {
  const { name, kind = "standard", events, tenants } = options;
  return {
    name,
    kind: kind === "standard" ? "webhook" : kind,
    target: shownTarget(options.url),
    wants: ({ type, tenant }) =>
      (events === undefined || events.includes(type)) && (tenants === undefined || tenants.includes(tenant)),
    async deliver(notice, signal): Promise<Delivered> {
      const [url, secret] = await Promise.all([
        dependencies.reveal(options.url),
        options.secret === undefined ? undefined : dependencies.reveal(options.secret),
      ]);
      const target = await targetOf(url, options.allowPrivate === true, dependencies.resolve);
      if (!target.allowed) return { delivered: false, problem: target.problem };
      const formatted = format(notice, secret);
      if ("problem" in formatted) return { delivered: false, problem: formatted.problem };
      return post(target, formatted, signal);
    },
  };
}

/** The path of such an address is often its password, so it is not shown. */
function shownTarget(url: string): string {
  if (url.startsWith("secret://")) return "(a secret address)";
  const { protocol, host } = URL.parse(url) ?? {};
  return host === undefined ? "(no address)" : `${protocol}//${host}/…`;
}

/** Signed by the rules of Standard Webhooks, with the same id at every try, so that a receiver can drop repeats. */
export function standardFormat(
  { clock, redact }: WebhookDependencies,
  { arguments: withArguments }: WebhookOptions,
): NoticeFormat {
  return (notice, secret = "") => {
    const key = keyFrom(secret);
    if (key === undefined) return { problem: `Its secret is shorter than ${fewestKeyBytes} bytes.` };
    const { id, type, at } = notice;
    const data = {
      ...{ tenant: notice.tenant, summary: notice.summary },
      ...(notice.link !== undefined && { link: notice.link }),
      ...(type === "channel.test" ? { test: true } : subjectOf(notice, withArguments === true)),
    };
    const body = JSON.stringify({ type, timestamp: at, data: redact(data) });
    const timestamp = Math.floor(clock.now() / 1000);
    return {
      body,
      headers: {
        "webhook-id": id,
        "webhook-timestamp": String(timestamp),
        "webhook-signature": sign(key, { id, timestamp, body }),
      },
    };
  };
}

function subjectOf({ approval, end, data }: Notice, withArguments: boolean): JsonObject {
  if (approval === undefined) return { alarm: data };
  const call = end && defined({ state: end.as, duration_ms: end.durationMs });
  return defined({ approval: approvalBody(approval, withArguments), call });
}

/** A message has no typed confirmation and no signed-in person. */
export function isForConsole({ risk, routed }: ApprovalRecord): boolean {
  return risk === "critical" || routed?.typedConfirmation === true || routed?.signedIn === true;
}

function approvalBody(approval: ApprovalRecord, withArguments: boolean): JsonObject {
  const { principal, decision, summary, autonomy, reason } = approval;
  return defined({
    approval_id: approval.id,
    status: approval.state,
    tool: approval.tool,
    action: approval.action,
    risk_level: approval.risk,
    autonomy_level: autonomy,
    why: approval.why.map((one) => ({ ...one })),
    summary,
    agent_says: reason,
    requested_by: defined({ agent: principal.agent, user: principal.user }),
    run_id: approval.runId,
    requested_at: new Date(approval.requestedAt).toISOString(),
    expires_at: new Date(approval.expiresAt).toISOString(),
    on_expiry: "denied",
    shown_digest: shownDigest(approval),
    decided_in: isForConsole(approval) ? "console" : "channel",
    arguments: withArguments ? shownArguments(approval) : undefined,
    decision: decision && decisionBody(decision),
  });
}

function decisionBody({ as, by, at, reason }: NonNullable<ApprovalRecord["decision"]>): JsonObject {
  return defined({ as, by, at: new Date(at).toISOString(), reason });
}
