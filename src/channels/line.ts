import { messageOf } from "../calls/fault.ts";
import type { Channel, Delivered, Notice } from "./channel.ts";

/**
 * One try after the other. Where a try was told that there is nobody any more, the next ones are not made: they end in the
 * same words, until somebody asks that it be tried anew, or Postern is started again.
 */
export class Line {
  readonly #channel: Channel;
  /** What it said when it went. */
  #gone: string | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** What a channel throws counts as not delivered. */
  async deliver(notice: Notice, signal: AbortSignal): Promise<Delivered> {
    if (this.#gone !== undefined) return { delivered: false, problem: this.#gone, final: true };
    try {
      const delivered = await this.#channel.deliver(notice, signal);
      if (!delivered.delivered && delivered.gone === true) this.#gone = delivered.problem;
      return delivered;
    } catch (error) {
      return { delivered: false, problem: messageOf(error) };
    }
  }

  reopen(): void {
    this.#gone = undefined;
  }
}
