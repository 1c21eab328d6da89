/** The `channels` section of a configuration file (snake_case) and what it becomes. Only packages/postern/src/config imports this. */

import type { CamelCased } from "@postern/core";
import { z } from "zod";
import type { NoticeType } from "./channel.ts";
import { noticeTypes } from "./notice.ts";
import type { ChannelsOptions } from "./open-channels.ts";

const reference = /^secret:\/\/[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/;
const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "Use 1 to 32 of a-z 0-9 -: it is part of an address.");

/** What webhooks and apps of Slack have in common. */
const shared = {
  name: name.describe("Its name in `postern channels` and in the audit log."),
  events: z
    .array(z.enum(noticeTypes as [NoticeType, ...NoticeType[]])) // it is not empty
    .min(1)
    .exactOptional()
    .describe("Default: all of them."),
  tenants: z.array(z.string().min(1)).min(1).exactOptional().describe("Of which tenants. Default: all."),
  allow_private: z.boolean().exactOptional().describe("Whether it may be a machine of this network, over http too."),
  arguments: z
    .boolean()
    .exactOptional()
    .describe("Whether notices hold the arguments of a call. They are masked, but another server reads them."),
  users: z
    .record(z.string().min(1).max(256), z.string().min(1).max(256))
    .exactOptional()
    .describe("Who may decide through it: names in the channel, and the users that they are here."),
};
const secret = z.string().regex(reference, "Write `secret://connector/key`; `postern secrets set` keeps the value.");

const webhook = z
  .strictObject({
    ...shared,
    url: z
      .string()
      .min(1)
      .refine(
        (url) => reference.test(url) || /^https?:\/\//.test(url),
        "Write an `https://` address, or `secret://connector/key` where the address itself is secret.",
      )
      .describe("Where each notice is sent; `secret://connector/key` when the address is a password, as Slack's is."),
    secret: secret
      .exactOptional()
      .describe("The signing key: 24 bytes or more, or `whsec_…`. `standard` and `users` need it."),
    kind: z.enum(["standard", "slack"]).exactOptional().describe("`standard` (Standard Webhooks) by default."),
  })
  .refine(
    ({ kind = "standard", secret }) => kind === "slack" || secret !== undefined,
    "A `standard` webhook needs `secret`: without it a receiver cannot know who sends.",
  )
  .refine(
    ({ users, secret }) => users === undefined || secret !== undefined,
    "`users` need `secret`: decisions that come in are signed by it.",
  );

const slackApp = z
  .strictObject({
    ...shared,
    channel: z
      .string()
      .regex(/^[A-Z0-9]{2,32}$/, "Write the id of the channel in Slack, as `C0123456789`.")
      .describe("The id of the channel in Slack."),
    token: secret.describe("The bot token of the app, with the scope `chat:write`."),
    signing_secret: secret.exactOptional().describe("The signing secret of the app. `users` need it."),
    api_url: z
      .url({ protocol: /^https?$/ })
      .exactOptional()
      .describe("Default: `https://slack.com/api`."),
  })
  .refine(
    ({ users, signing_secret }) => users === undefined || signing_secret !== undefined,
    "`users` need `signing_secret`: what people press in Slack is signed by it.",
  );

export const channelsSchema = z
  .strictObject({
    slack: z
      .array(slackApp)
      .max(32)
      .exactOptional()
      .describe("Apps of Slack, which answer in the thread of a request."),
    webhooks: z.array(webhook).max(32).exactOptional(),
    console_url: z
      .url({ protocol: /^https?$/ })
      .exactOptional()
      .describe(
        "Where people reach the console, for links in messages. Default: `listen.public_url`, else this machine's address.",
      ),
  })
  .refine(({ webhooks = [], slack = [] }) => {
    const names = [...webhooks, ...slack].map((one) => one.name);
    return new Set(names).size === names.length;
  }, "Two of them have the same `name`.");

type ChannelsSection = CamelCased<z.output<typeof channelsSchema>>;

export function channelSettingsFrom({ webhooks = [], slack, consoleUrl }: ChannelsSection): ChannelsOptions {
  return {
    webhooks,
    ...(slack !== undefined && { slack }),
    ...(consoleUrl !== undefined && { consoleUrl: consoleUrl.replace(/\/+$/, "") }),
  };
}
