import { RuntimeFault } from "../../core/fault.ts";
import type { JsonObject } from "../../core/json.ts";
import { credentialsIn } from "../../secrets/configured-values.ts";
import type { ResolveSecret } from "../../secrets/lend.ts";
import { referencesIn, withSecrets } from "../../secrets/secret-reference.ts";
import type { Channel, ChannelState, Channels, Delivered } from "./channel.ts";
import { type DecisionDependencies, DecisionReceiver, type Incoming, type Received } from "./decisions.ts";
import { Outbox, type OutboxOptions } from "./outbox.ts";
import { slackFormat } from "./slack.ts";
import { standardFormat, type WebhookDependencies, type WebhookOptions, webhookChannel } from "./webhook.ts";

/** @public */
export interface WebhookSettings extends WebhookOptions {
  /** Who may decide through it: their names over there, and who they are here. */
  readonly users?: Readonly<Record<string, string>>;
}

/** @public */
export interface ChannelsOptions {
  readonly webhooks?: readonly WebhookSettings[];
  /** Channels of your own: e-mail, push, whatever reaches people. */
  readonly also?: readonly Channel[];
  /** Where people reach the console, for links in messages. A function when the port is known later. */
  readonly consoleUrl?: string | (() => string | undefined);
}

export interface ChannelsDependencies extends Omit<DecisionDependencies, "reveal"> {
  readonly size: OutboxOptions["size"];
  readonly note: OutboxOptions["note"];
  readonly log: (problem: string) => void;
  readonly redact: (value: JsonObject) => JsonObject;
  /** Makes secrets that stand in a channel's configuration known to the redactor. */
  readonly learn: (values: readonly string[]) => void;
  /** A secret's value, which every mask knows from then on. */
  readonly resolveSecret: ResolveSecret;
}

/**
 * Channels as the runtime has them: with the way back for decisions.
 *
 * @public
 */
export interface OpenChannels extends Channels, AsyncDisposable {
  receive(name: string, incoming: Incoming): Promise<Received>;
  /** Sends an alarm that cannot be stored to every channel that wants alarms. Never rejects. */
  urgent(type: "alarm.opened" | "alarm.resolved", summary: string): Promise<void>;
}

/** @throws RuntimeFault `channels_invalid` for two of one name */
export async function openChannels(
  options: ChannelsOptions,
  dependencies: ChannelsDependencies,
): Promise<OpenChannels> {
  const { webhooks = [], also = [], consoleUrl } = options;
  const reveal = (text: string): Promise<string> => withSecrets(text, dependencies.resolveSecret);
  for (const { url, secret = "" } of webhooks) dependencies.learn([...credentialsIn(url), ...signingKey(secret)]);
  const console = typeof consoleUrl === "function" ? consoleUrl : () => consoleUrl;
  const channels = [...webhooks.map((one) => channelOf(one, { ...dependencies, reveal })), ...also];
  const names = channels.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new RuntimeFault("channels_invalid", `Two channels are called \`${twice}\`; rename one.`);
  const outboxes = new Map(
    channels.map((channel) => [channel.name, new Outbox({ ...dependencies, channel, random: Math.random, console })]),
  );
  for (const outbox of outboxes.values()) await outbox.start();
  return new RunningChannels(outboxes, new DecisionReceiver(webhooks.flatMap(decidersOf), { ...dependencies, reveal }));
}

class RunningChannels implements OpenChannels {
  readonly #outboxes: ReadonlyMap<string, Outbox>;
  readonly #decisions: DecisionReceiver;

  constructor(outboxes: ReadonlyMap<string, Outbox>, decisions: DecisionReceiver) {
    this.#outboxes = outboxes;
    this.#decisions = decisions;
  }

  list(): readonly ChannelState[] {
    return [...this.#outboxes.values()].map(({ state }) => state);
  }

  async test(name: string): Promise<Delivered | undefined> {
    return this.#outboxes.get(name)?.test();
  }

  async retry(name: string): Promise<number | undefined> {
    return this.#outboxes.get(name)?.retry();
  }

  receive(name: string, incoming: Incoming): Promise<Received> {
    return this.#decisions.receive(name, incoming);
  }

  async urgent(...notice: Parameters<OpenChannels["urgent"]>): Promise<void> {
    await Promise.all([...this.#outboxes.values()].map((outbox) => outbox.urgent(...notice)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#outboxes.values()].map((outbox) => outbox[Symbol.asyncDispose]()));
  }
}

function channelOf(options: WebhookSettings, dependencies: WebhookDependencies): Channel {
  const format = options.kind === "slack" ? slackFormat(dependencies, options) : standardFormat(dependencies, options);
  return webhookChannel(options, dependencies, format);
}

function decidersOf({ name, secret, tenants, users }: WebhookSettings) {
  if (secret === undefined || users === undefined) return [];
  return [{ name, secret, users, ...(tenants !== undefined && { tenants }) }];
}

/** As it is, and without the prefix of Standard Webhooks. */
function signingKey(secret: string): readonly string[] {
  return referencesIn(secret).length > 0 ? [] : [secret, secret.replace(/^whsec_/, "")];
}
