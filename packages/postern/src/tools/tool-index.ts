import type MiniSearch from "minisearch";
import type { Registry } from "./registry.ts";
import type { Offer } from "./tool.ts";

interface IndexedTool {
  readonly id: string;
  readonly name: string;
  readonly description: string;
}

/**
 * Finds tools by words in their names and descriptions. All tools are indexed once, and again after they changed; what a
 * caller may not see is left out of its results.
 *
 * @example
 * const index = new ToolIndex(runtime.tools);
 * const best = await index.find("open a ticket", runtime.offered(principal), 5);
 *
 * @public
 */
export class ToolIndex {
  readonly #tools: Pick<Registry, "offers">;
  #index: Promise<MiniSearch<IndexedTool>> | undefined;

  constructor(tools: Pick<Registry, "offers" | "follow">) {
    this.#tools = tools;
    tools.follow(() => {
      this.#index = undefined;
    });
  }

  /**
   * The tools that fit a query, the best first. All by name if the query has no words.
   *
   * @param among the tools that the caller may see
   */
  async find(
    query: string,
    among: readonly Offer[],
    limit: number = Number.POSITIVE_INFINITY,
  ): Promise<readonly Offer[]> {
    const offers = new Map(among.map((offer) => [idOf(offer), offer]));
    if (query.trim() === "") return [...offers.values()].sort(byName).slice(0, limit);
    this.#index ??= indexOf(this.#tools.offers());
    const found = (await this.#index).search(query).flatMap(({ id }) => offers.get(String(id)) ?? []);
    return found.slice(0, limit);
  }
}

async function indexOf(offers: readonly Offer[]): Promise<MiniSearch<IndexedTool>> {
  const { default: Search } = await import("minisearch"); // most endpoints list their tools
  const index = new Search<IndexedTool>({
    fields: ["name", "description"],
    tokenize: wordsIn,
    searchOptions: { boost: { name: 3 }, prefix: true, fuzzy: 0.2 },
  });
  index.addAll(
    offers.map((offer) => ({ id: idOf(offer), name: `${offer.tool} ${offer.name}`, description: offer.description })),
  );
  return index;
}

/** `createPullRequest` and `create_pull_request` have the same words. */
function wordsIn(text: string): string[] {
  return text
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

export function idOf({ tool, name }: Offer): string {
  return JSON.stringify([tool, name]);
}

function byName(one: Offer, other: Offer): number {
  return idOf(one) < idOf(other) ? -1 : 1;
}
