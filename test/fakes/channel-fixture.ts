import type { Channel, ChannelState, Delivered, Notice } from "../../packages/postern/src/observe/notify/channel.ts";
import { type RuntimeFixture, runtimeFixture } from "./runtime-fixture.ts";

export interface ChannelFixture extends Channel {
  readonly notices: Notice[];
  /** The next answers; when the list is empty, the notice is delivered. */
  readonly answers: (Delivered | Error)[];
}

/** A custom channel, as an e-mail adapter would be, that records its notices. */
export function recordingChannel(more: Partial<Channel> = {}): ChannelFixture {
  const notices: Notice[] = [];
  const answers: (Delivered | Error)[] = [];
  return {
    ...{ name: "mine", kind: "test", target: "here", wants: () => true },
    deliver: async (notice) => {
      notices.push(notice);
      const answer = answers.shift() ?? { delivered: true };
      if (answer instanceof Error) throw answer;
      return answer;
    },
    ...more,
    ...{ notices, answers },
  };
}

export const notTaken: Extract<Delivered, { readonly delivered: false }> = {
  delivered: false,
  problem: "It answered 500.",
};

export function fixtureWith(
  channel: Channel,
  more: Parameters<typeof runtimeFixture>[0] = {},
): Promise<RuntimeFixture> {
  return runtimeFixture({ channels: { also: [channel], consoleUrl: "https://postern.example" }, ...more });
}

/** Returns the state of the runtime's first channel. */
export function channelOf({ runtime }: RuntimeFixture): ChannelState | undefined {
  return runtime.channels?.list()[0];
}
