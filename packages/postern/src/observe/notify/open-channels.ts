import { defined, type JsonObject, RuntimeFault } from "@postern/core";
import { credentialsIn } from "../../secrets/configured-values.ts";
import type { ResolveSecret } from "../../secrets/lend.ts";
import { referencesIn, withSecrets } from "../../secrets/secret-reference.ts";
import type { Channel, Channels } from "./channel.ts";
import { type DecisionDependencies, DecisionReceiver, type Incoming, type Received } from "./decisions.ts";
import { Outbox, type OutboxOptions } from "./outbox.ts";
import { slackFormat } from "./slack.ts";
import { type SlackReceived, SlackReceiver } from "./slack-actions.ts";
import type { SlackOptions } from "./slack-api.ts";
import { slackChannel } from "./slack-app.ts";
import { standardFormat, type WebhookDependencies, type WebhookOptions, webhookChannel } from "./webhook.ts";

/** @public */
export interface WebhookSettings extends WebhookOptions {
  /** Who may decide through it: names in the channel, and the users that they are here. */
  readonly users?: Readonly<Record<string, string>>;
}

/** @public */
export interface ChannelsOptions {
  readonly webhooks?: readonly WebhookSettings[];
  /** Apps of Slack, which answer in the thread of each request. */
  readonly slack?: readonly SlackOptions[];
  /** Your own channels: e-mail, push, and others. */
  readonly also?: readonly Channel[];
  /** The address of the console, for links in messages. A function if the port is known later. */
  readonly consoleUrl?: string | (() => string | undefined);
}

export interface ChannelsDependencies extends Omit<DecisionDependencies, "reveal"> {
  readonly size: OutboxOptions["size"];
  readonly note: OutboxOptions["note"];
  readonly log: (problem: string) => void;
  readonly redact: (value: JsonObject) => JsonObject;
  /** Tells the redactor the secrets in a channel's configuration. */
  readonly learn: (values: readonly string[]) => void;
  /** The value of a secret. The redactor masks it from then on. */
  readonly resolveSecret: ResolveSecret;
}

/**
 * The channels of a runtime, which also receive decisions.
 *
 * @public
 */
export interface OpenChannels extends Channels, AsyncDisposable {
  receive(name: string, incoming: Incoming): Promise<Received>;
  /** A pressed button or a filled-in dialog of Slack. */
  receiveFromSlack(name: string, incoming: Incoming): Promise<SlackReceived>;
  /** Sends an alarm that cannot be stored to every channel that wants alarms. Never rejects. */
  urgent(type: "alarm.opened" | "alarm.resolved", summary: string): Promise<void>;
}

/** @throws RuntimeFault `options_invalid` if two have one name */
export async function openChannels(
  options: ChannelsOptions,
  dependencies: ChannelsDependencies,
): Promise<OpenChannels> {
  const { webhooks = [], slack = [], also = [], consoleUrl } = options;
  const reveal = (text: string): Promise<string> => withSecrets(text, dependencies.resolveSecret);
  for (const { url, secret = "" } of webhooks) dependencies.learn([...credentialsIn(url), ...signingKey(secret)]);
  const console = typeof consoleUrl === "function" ? consoleUrl : () => consoleUrl;
  const shared = { ...dependencies, reveal };
  const channels = [
    ...webhooks.map((one) => channelOf(one, shared)),
    ...slack.map((one) => slackChannel(one, shared)),
    ...also,
  ];
  const names = channels.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new RuntimeFault("options_invalid", `Two channels are called \`${twice}\`; rename one.`);
  const outboxes = new Map(
    channels.map((channel) => [channel.name, new Outbox({ ...dependencies, channel, random: Math.random, console })]),
  );
  const all = [...outboxes.values()];
  for (const outbox of all) await outbox.start();
  const decisions = new DecisionReceiver([...webhooks.flatMap(decidersOf), ...slack.flatMap(slackDeciders)], shared);
  const pressed = new SlackReceiver(slack, { ...shared, decisions });
  return {
    list: () => all.map(({ state }) => state),
    test: async (name) => outboxes.get(name)?.test(),
    retry: async (name) => outboxes.get(name)?.retry(),
    receive: (name, incoming) => decisions.receive(name, incoming),
    receiveFromSlack: (name, incoming) => pressed.receive(name, incoming),
    urgent: async (...notice) => {
      await Promise.all(all.map((outbox) => outbox.urgent(...notice)));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(all.map((outbox) => outbox[Symbol.asyncDispose]()));
    },
  };
}

function channelOf(options: WebhookSettings, dependencies: WebhookDependencies): Channel {
  const format = options.kind === "slack" ? slackFormat(dependencies, options) : standardFormat(dependencies, options);
  return webhookChannel(options, dependencies, format);
}

function decidersOf({ name, secret, tenants, users }: WebhookSettings) {
  if (secret === undefined || users === undefined) return [];
  return [{ name, secret, users, ...defined({ tenants }) }];
}

function slackDeciders({ name, signingSecret, tenants, users }: SlackOptions) {
  if (signingSecret === undefined || users === undefined) return [];
  return [{ name, scheme: "slack" as const, secret: signingSecret, users, ...defined({ tenants }) }];
}

/** The key with and without the prefix of Standard Webhooks. */
function signingKey(secret: string): readonly string[] {
  return referencesIn(secret).length > 0 ? [] : [secret, secret.replace(/^whsec_/, "")];
}
