import { counted } from "../../core/shown.ts";
import type { ChannelState } from "../../observe/notify/channel.ts";
import type { Received } from "../../observe/notify/decisions.ts";
import { type channel, channels } from "../contract/channels.ts";
import type { Input } from "../contract/route.ts";
import { problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { type Route, serve } from "./route.ts";
import { isOfTheHouse } from "./visible.ts";

export const channelRoutes: readonly Route[] = serve(channels, {
  list: ({ runtime, by }) => {
    const listed = isOfTheHouse(by) ? (runtime.channels?.list() ?? []) : [];
    return { channels: listed.map(shown) };
  },
  test: async ({ runtime, by, part }) => {
    const name = part("name");
    const sent = await runtime.channels?.test(name);
    if (sent === undefined) return unknownChannel(name);
    const data = { channel: name, delivered: sent.delivered };
    await runtime.note("operator.action.channel_tested", `Channel ${name} tested`, { ...actorOf(by), data });
    return sent.delivered ? { delivered: true } : { delivered: false, problem: sent.problem };
  },
  retry: async ({ runtime, by, part }) => {
    const name = part("name");
    const retried = await runtime.channels?.retry(name);
    if (retried === undefined) return unknownChannel(name);
    const summary = `${counted(retried, "notice")} of ${name} ${retried === 1 ? "is" : "are"} tried again`;
    const data = { channel: name, retried };
    await runtime.note("operator.action.channel_retried", summary, { ...actorOf(by), data });
    return { retried };
  },
  decide: async ({ runtime, part, headers, readText }) => {
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
});

function shown({ lastDeliveredAt, dead, ...state }: ChannelState): Input<typeof channel> {
  return {
    ...state,
    last_delivered_at: lastDeliveredAt,
    dead: dead.map(({ seq, ...letter }) => ({ entry: seq, ...letter })),
  };
}

/** A decision is a few words. */
const mostBytes = 16 * 1024;

const signatureRefused: Received = {
  taken: false,
  code: "signature_refused",
  message: "The signature, its id or its timestamp is not good for this channel.",
};

function answerReceived(received: Received): Response | Input<typeof channels.decide.answer> {
  if (!received.taken) return problem(received.code, received.message);
  const { decided } = received;
  if (!decided.decided) return problem(decided.code, decided.message);
  const { id, state, decision } = decided.approval; // no more: what would run is shown in the console
  return { approval_id: id, status: state, decided_as: decision?.as };
}

function unknownChannel(name: string): Response {
  return problem("channel_unknown", `There is no channel \`${name.slice(0, 64)}\`; \`postern channels\` lists them.`);
}
