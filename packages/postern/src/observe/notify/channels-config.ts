/** The `channels` section of a configuration file (snake_case) and what it becomes. Only packages/postern/src/config imports this. */

import type { CamelCased } from "@postern/core";
import { z } from "zod";
import type { NoticeType } from "./channel.ts";
import { noticeTypes } from "./notice.ts";
import type { ChannelsOptions } from "./open-channels.ts";

const reference = /^secret:\/\/[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/;
const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "Use 1 to 32 of a-z 0-9 -: it is part of an address.");

const webhook = z
  .strictObject({
    name: name.describe("Its name in `postern channels` and in the audit log."),
    url: z
      .string()
      .min(1)
      .refine(
        (url) => reference.test(url) || /^https?:\/\//.test(url),
        "Write an `https://` address, or `secret://connector/key` where the address itself is secret.",
      )
      .describe("Where each notice is sent; `secret://connector/key` when the address is a password, as Slack's is."),
    secret: z
      .string()
      .regex(reference, "Write `secret://connector/key`; `postern secrets set` keeps the value.")
      .exactOptional()
      .describe("The signing key: 24 bytes or more, or `whsec_…`. `standard` and `users` need it."),
    kind: z.enum(["standard", "slack"]).exactOptional().describe("`standard` (Standard Webhooks) by default."),
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
  })
  .refine(
    ({ kind = "standard", secret }) => kind === "slack" || secret !== undefined,
    "A `standard` webhook needs `secret`: without it a receiver cannot know who sends.",
  )
  .refine(
    ({ users, secret }) => users === undefined || secret !== undefined,
    "`users` need `secret`: decisions that come in are signed by it.",
  );

export const channelsSchema = z.strictObject({
  webhooks: z
    .array(webhook)
    .max(32)
    .refine((all) => new Set(all.map((one) => one.name)).size === all.length, "Two of them have the same `name`.")
    .exactOptional(),
  console_url: z
    .url({ protocol: /^https?$/ })
    .exactOptional()
    .describe(
      "Where people reach the console, for links in messages. Default: `listen.public_url`, else this machine's address,.",
    ),
});

type ChannelsSection = CamelCased<z.output<typeof channelsSchema>>;

export function channelSettingsFrom({ webhooks = [], consoleUrl }: ChannelsSection): ChannelsOptions {
  return { webhooks, ...(consoleUrl !== undefined && { consoleUrl: consoleUrl.replace(/\/+$/, "") }) };
}
