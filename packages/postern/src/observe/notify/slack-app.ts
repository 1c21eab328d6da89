import { type ApprovalRecord, isJsonObject, type Json, type JsonObject } from "@postern/core";
import { shownDigest } from "../../approvals/binding.ts";
import { Collection } from "../../store/collection.ts";
import type { Store } from "../../store/store.ts";
import type { Channel, Delivered, Notice } from "./channel.ts";
import { button, slackMessage, slackReply } from "./slack.ts";
import { callSlack, type SlackOptions } from "./slack-api.ts";
import { isForConsole, type WebhookDependencies } from "./webhook.ts";

/** The message that asked: what follows about its request stands in its thread. */
interface Thread {
  readonly approval: string;
  /** Slack's id of the message. */
  readonly ts: string;
}

/** Of the newest requests. What follows about an older one is a message of its own. */
const mostThreads = 500;
/** Slack's own words for a message that is gone, or may no longer be changed. The thread goes on. */
const unchangeable = /message_not_found|cant_update_message|edit_window_closed/;

/**
 * Writes as an app of Slack. The message of a request has buttons, and its thread says how it was decided and how its
 * call ended. Sent one after the other, so that a thread exists before what follows in it.
 */
export function slackChannel(
  options: SlackOptions,
  dependencies: WebhookDependencies & { readonly store: Store },
): Channel {
  const { name, channel, events, tenants } = options;
  const threads = new Threads(name, dependencies.store);
  let turn: Promise<unknown> = Promise.resolve();
  return {
    name,
    ...{ kind: "slack", target: `Slack channel ${channel}` },
    wants: ({ type, tenant }) =>
      (events === undefined || events.includes(type)) && (tenants === undefined || tenants.includes(tenant)),
    deliver(notice, signal) {
      const sent = turn.then(() => deliver(notice, { options, dependencies, threads, signal }));
      turn = sent.catch(() => undefined); // the outbox gets the error
      return sent;
    },
  };
}

interface Delivery {
  readonly options: SlackOptions;
  readonly dependencies: WebhookDependencies;
  readonly threads: Threads;
  readonly signal: AbortSignal;
}

async function deliver(notice: Notice, delivery: Delivery): Promise<Delivered> {
  const { options, dependencies, threads } = delivery;
  const { approval, type } = notice;
  const message = slackMessage(notice, dependencies, options, buttonsFor(approval, options));
  const ts = approval && (await threads.tsOf(approval.id));
  if (approval === undefined || ts === undefined) {
    const posted = await send("chat.postMessage", message, delivery);
    if (approval !== undefined && type === "approval.requested" && typeof posted === "string")
      await threads.add({ approval: approval.id, ts: posted });
    return typeof posted === "string" ? { delivered: true } : posted;
  }
  // A second try of a message that arrived.
  if (type === "approval.requested") return { delivered: true };
  const shown = slackMessage(
    { ...notice, type: titledAs(notice) },
    dependencies,
    options,
    buttonsFor(approval, options),
  );
  const changed = await send("chat.update", { ...shown, ts }, delivery);
  if (typeof changed !== "string" && !unchangeable.test(changed.problem)) return changed;
  const isForAll = type === "approval.expiring" || type === "approval.escalated";
  const reply = { ...slackReply(notice, dependencies), thread_ts: ts, ...(isForAll && { reply_broadcast: true }) };
  const replied = await send("chat.postMessage", reply, delivery);
  return typeof replied === "string" ? { delivered: true } : replied;
}

/** The request's own message keeps its title while it waits. */
function titledAs({ approval, type }: Notice): Notice["type"] {
  return approval?.state === "pending" && type !== "approval.edited" ? "approval.requested" : type;
}

/** Resolves to the id of the message. */
async function send(
  method: "chat.postMessage" | "chat.update",
  message: JsonObject,
  { options, dependencies, signal }: Delivery,
): Promise<string | Extract<Delivered, { delivered: false }>> {
  const answered = await callSlack(options, dependencies, [method, { channel: options.channel, ...message }], signal);
  return answered.ok ? String(answered.body["ts"] ?? "") : answered.failed;
}

/** What a pressed button says: which request, and what the person saw of it. */
export interface PressedButton {
  readonly approval_id: string;
  readonly expected_digest: string;
}

export const approveAction = "approve";
export const denyAction = "deny";

function buttonsFor(
  approval: ApprovalRecord | undefined,
  { users, signingSecret }: SlackOptions,
): readonly JsonObject[] {
  if (users === undefined || signingSecret === undefined) return [];
  if (approval?.state !== "pending" || isForConsole(approval)) return [];
  const pressed: PressedButton = { approval_id: approval.id, expected_digest: shownDigest(approval) };
  const value = JSON.stringify(pressed);
  return [
    { ...button("Approve", approveAction), value, style: "primary" },
    { ...button("Deny…", denyAction), value, style: "danger" },
  ];
}

/** One document of a channel. */
class Threads {
  readonly #name: string;
  readonly #stored: Collection<readonly Thread[]>;

  constructor(name: string, store: Store) {
    this.#name = name;
    this.#stored = new Collection({
      ...{ store, kind: "channel-threads", read: threadsIn },
      write: (threads) => ({ threads: threads.map((one) => ({ ...one })) }),
    });
  }

  async tsOf(approval: string): Promise<string | undefined> {
    return (await this.#stored.get(this.#name))?.find((one) => one.approval === approval)?.ts;
  }

  async add(thread: Thread): Promise<void> {
    await this.#stored.change(this.#name, (before = []) => ({ item: [...before, thread].slice(-mostThreads) }));
  }
}

function threadsIn(body: Json): readonly Thread[] {
  const threads = isJsonObject(body) ? body["threads"] : undefined;
  if (!Array.isArray(threads)) return [];
  return threads.flatMap((one: Json) => {
    if (!isJsonObject(one)) return [];
    const { approval, ts } = one;
    return typeof approval === "string" && typeof ts === "string" ? [{ approval, ts }] : [];
  });
}
