import { isJsonObject, type JsonObject, parseStrict } from "@postern/core";
import { targetOf } from "@postern/core/system";
import type { Delivered, NoticeType } from "./channel.ts";
import { postAndRead } from "./send.ts";
import type { WebhookDependencies } from "./webhook.ts";

/** A channel in which an app of Slack writes and answers. */
export interface SlackOptions {
  readonly name: string;
  /** Its id in Slack: `C0123456789`. */
  readonly channel: string;
  /** The app's bot token: `secret://connector/key`. */
  readonly token: string;
  /** The app's signing secret: `secret://connector/key`. `users` need it. */
  readonly signingSecret?: string;
  /** Who may decide through it: ids of members in Slack, and the users that they are here. */
  readonly users?: Readonly<Record<string, string>>;
  /** Default: all. */
  readonly events?: readonly NoticeType[];
  /** Default: all. */
  readonly tenants?: readonly string[];
  /** Whether messages hold the arguments, masked. */
  readonly arguments?: boolean;
  /** Default: `https://slack.com/api`. */
  readonly apiUrl?: string;
  /** Allows an `apiUrl` in this network, also over http. */
  readonly allowPrivate?: boolean;
}

/** What Slack answered, or why the method failed. */
export type SlackAnswer =
  | { readonly ok: true; readonly body: JsonObject }
  | { readonly ok: false; readonly failed: Failed };
type Failed = Extract<Delivered, { readonly delivered: false }>;

/** An answer repeats the message, whose blocks have at most 3,000 characters each. */
const mostCharacters = 200_000;

/** Calls one method of Slack's Web API. Slack says with 200 that a method failed. */
export async function callSlack(
  { token, apiUrl = "https://slack.com/api", allowPrivate = false }: SlackOptions,
  { reveal, resolve }: Pick<WebhookDependencies, "reveal" | "resolve">,
  [method, sent]: readonly [method: string, sent: JsonObject],
  signal: AbortSignal,
): Promise<SlackAnswer> {
  const target = await targetOf(`${apiUrl.replace(/\/+$/, "")}/${method}`, allowPrivate, resolve);
  if (!target.allowed) return { ok: false, failed: { delivered: false, problem: target.problem } };
  const headers = {
    authorization: `Bearer ${await reveal(token)}`,
    "content-type": "application/json; charset=utf-8",
  };
  const posted = { body: JSON.stringify(sent), headers };
  const { sent: taken, text } = await postAndRead(target, posted, signal, mostCharacters);
  if (!taken.delivered) return { ok: false, failed: taken };
  const parsed = parseStrict(text);
  const body = "value" in parsed && isJsonObject(parsed.value) ? parsed.value : {};
  if (body["ok"] === true) return { ok: true, body };
  const error = typeof body["error"] === "string" ? body["error"].slice(0, 100) : "no answer that is JSON";
  return { ok: false, failed: { delivered: false, problem: `Slack refused \`${method}\`: ${error}.` } };
}
