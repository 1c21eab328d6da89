import type { Json, JsonObject } from "@postern/core";

/** A list with more pages than this never ends. */
const mostPages = 10_000;

/** All pages of one of a server's lists. @throws Error when an answer has no list, or the list does not end */
export async function* pagesOf(
  ask: (params: JsonObject) => Promise<JsonObject>,
  method: string,
  member: string,
): AsyncGenerator<readonly Json[]> {
  let cursor: Json | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const result = await ask(cursor === undefined ? {} : { cursor });
    const items = result[member];
    if (!Array.isArray(items)) throw new Error(`its answer to \`${method}\` has no list \`${member}\``);
    yield items;
    cursor = result["nextCursor"];
    if (typeof cursor !== "string" || cursor === "") return;
  }
  throw new Error(`its list has more than ${mostPages} pages`);
}
