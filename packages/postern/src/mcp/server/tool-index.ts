import type MiniSearch from "minisearch";
import type { Runtime } from "../../runtime/api/api.ts";
import type { Offer } from "../../tools/tool.ts";

interface IndexedTool {
  readonly id: string;
  readonly name: string;
  readonly description: string;
}

/** Finds tools by words. All tools are indexed once; what a caller may not see is left out of its results. */
export class ToolIndex {
  readonly #runtime: Runtime;
  #index: Promise<MiniSearch<IndexedTool>> | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** The tools have changed. */
  forget(): void {
    this.#index = undefined;
  }

  /** The best first; all by name if the query has no words. */
  async find(query: string, among: readonly Offer[], limit: number): Promise<readonly Offer[]> {
    const offers = new Map(among.map((offer) => [idOf(offer), offer]));
    if (query.trim() === "") return [...offers.values()].sort(byName).slice(0, limit);
    this.#index ??= indexOf(this.#runtime.tools.offers());
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
