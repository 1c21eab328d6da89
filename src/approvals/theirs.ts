import { type Audience, audienceText } from "../stores/audience.ts";
import { hindrance } from "./admission.ts";
import type { Decider } from "./decision.ts";
import type { Delegation } from "./delegation.ts";
import type { Givers } from "./givers.ts";

/**
 * Which requests one person may say yes to. A store asks it of each audience while it reads a list, and cannot wait for
 * an answer; whether a word that was said still counts takes a look at accounts. So what hangs on that is answered as
 * if it counted, and known better once `learn` was waited for: then the list is read again.
 */
export class Theirs {
  readonly #by: Decider;
  readonly #lent: readonly Delegation[];
  readonly #givers: Givers;
  /** By their text, the words on them that still count. */
  readonly #counting = new Map<string, Audience["votes"]>();
  readonly #doubtful = new Map<string, Audience>();

  constructor(by: Decider, lent: readonly Delegation[], givers: Givers) {
    this.#by = by;
    this.#lent = lent;
    this.#givers = givers;
  }

  readonly has = (audience: Audience): boolean => {
    const problem = this.#problem(audience);
    if (problem !== "voted") return problem === undefined;
    const text = audienceText(audience);
    if (!this.#counting.has(text)) this.#doubtful.set(text, audience);
    return this.#problem({ ...audience, votes: this.#counting.get(text) ?? audience.votes ?? [] }) === undefined;
  };

  /** Whether there was something to learn. */
  async learn(): Promise<boolean> {
    const doubtful = [...this.#doubtful];
    this.#doubtful.clear();
    await Promise.all(
      doubtful.map(async ([text, audience]) => {
        const lapsed = new Set((await this.#givers.lapsed(audience)).map(({ vote }) => vote));
        this.#counting.set(
          text,
          audience.votes?.filter((vote) => !lapsed.has(vote)),
        );
      }),
    );
    return doubtful.length > 0;
  }

  #problem(audience: Audience): string | undefined {
    const found = hindrance(audience, { by: this.#by }, this.#givers.bench(audience, this.#lent));
    return "code" in found ? (found.why ?? found.code) : undefined;
  }
}
