import { z } from "@hono/zod-openapi";
import { counted } from "../../calls/shown.ts";
import type { ChannelState } from "../../channels/channel.ts";
import type { Received } from "../../channels/decisions.ts";
import { iso, isoOrNothing } from "../wire.ts";
import { text, when, whole } from "./answer-fields.ts";
import { answer, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { nothing, type Route, route } from "./route.ts";
import { isOfTheHouse } from "./visible.ts";

const channelAnswer = z
  .object({
    name: text,
    kind: text,
    target: text,
    waiting: whole,
    problem: text.optional(),
    delivered: whole,
    last_delivered_at: when.optional(),
    dead: z.array(z.object({ entry: whole, type: text, at: when, attempts: whole, problem: text })),
  })
  .openapi("Channel");

export interface ChannelWire {
  readonly name: string;
  readonly kind: string;
  readonly target: string;
  readonly waiting: number;
  readonly problem?: string | undefined;
  readonly delivered: number;
  readonly last_delivered_at?: string | undefined;
  readonly dead: readonly {
    readonly entry: number;
    readonly type: string;
    readonly at: string;
    readonly attempts: number;
    readonly problem: string;
  }[];
}

function channelToWire({ lastDeliveredAt, dead, ...state }: ChannelState): ChannelWire {
  return {
    ...state,
    last_delivered_at: isoOrNothing(lastDeliveredAt),
    dead: dead.map(({ seq, at, ...letter }) => ({ entry: seq, at: iso(at), ...letter })),
  };
}

/** Where people are told, and the way back (docs/reference/channels.md). */
export const channelRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/channels",
    needs: "channels:read",
    summary: "Where people are told that they are wanted: what waits, what was given up and why.",
    body: nothing,
    query: nothing,
    answers: z.object({ channels: z.array(channelAnswer) }),
    run: ({ runtime, by }) => {
      const channels = isOfTheHouse(by) ? (runtime.channels?.list() ?? []) : [];
      return answer({ channels: channels.map(channelToWire) });
    },
  }),
  route({
    method: "post",
    path: "/v1/channels/{name}/test",
    needs: "channels:write",
    summary: "Send a notice that says it is only a test, now and once.",
    body: nothing,
    query: nothing,
    answers: z.object({ delivered: z.boolean(), problem: text.optional() }),
    run: async ({ runtime, by, part }) => {
      const sent = await runtime.channels?.test(part("name"));
      if (sent === undefined) return unknownChannel(part("name"));
      const data = { channel: part("name"), delivered: sent.delivered };
      await runtime.note("operator.action.channel_tested", `Channel ${part("name")} tested`, {
        ...actorOf(by),
        data,
      });
      return answer(sent.delivered ? { delivered: true } : { delivered: false, problem: sent.problem });
    },
  }),
  route({
    method: "post",
    path: "/v1/channels/{name}/retry",
    needs: "channels:write",
    summary: "Try anew what was given up.",
    body: nothing,
    query: nothing,
    answers: z.object({ retried: whole }),
    run: async ({ runtime, by, part }) => {
      const retried = await runtime.channels?.retry(part("name"));
      if (retried === undefined) return unknownChannel(part("name"));
      const data = { channel: part("name"), retried };
      await runtime.note(
        "operator.action.channel_retried",
        `${counted(retried, "notice")} of ${part("name")} ${retried === 1 ? "is" : "are"} tried again`,
        {
          ...actorOf(by),
          data,
        },
      );
      return answer({ retried });
    },
  }),
  {
    method: "post",
    path: "/v1/channels/{name}/decisions",
    needs: "nothing",
    countsRefusals: true,
    summary: "A decision from where people were told, signed with the channel's secret (Standard Webhooks).",
    body: nothing,
    query: nothing,
    answers: z.object({ approval_id: text, status: text, decided_as: text.optional() }),
    handle: async ({ runtime, part, headers, readText }) => {
      const read = await readText(mostBytes);
      if ("refused" in read) return read.refused;
      if (runtime.channels === undefined) return answerReceived(signatureRefused);
      return answerReceived(
        await runtime.channels.receive(part("name"), {
          id: headers.get("webhook-id"),
          timestamp: headers.get("webhook-timestamp"),
          signature: headers.get("webhook-signature"),
          body: read.value,
        }),
      );
    },
  },
];

/** A decision is a few words. */
const mostBytes = 16 * 1024;

const signatureRefused: Received = {
  taken: false,
  code: "signature_refused",
  message: "The signature, its id or its timestamp is not good for this channel.",
};

function answerReceived(received: Received): Response {
  if (!received.taken) return problem(received.code, received.message);
  const { decided } = received;
  if (!decided.decided) return problem(decided.code, decided.message);
  const { id, state, decision } = decided.approval; // no more: what would run is shown in the console
  return answer({ approval_id: id, status: state, decided_as: decision?.as });
}

function unknownChannel(name: string): Response {
  return problem("channel_unknown", `There is no channel \`${name.slice(0, 64)}\`; \`postern channels\` lists them.`);
}
