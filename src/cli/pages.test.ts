import { expect, it } from "vitest";
import { type Page, upTo } from "./pages.ts";

const rows = Array.from({ length: 2_500 }, (_, at) => at);

/** As routes do: so many at most of what follows, and whether there is more; a short page is not the last one. */
function pagesOf(shortest: number) {
  const asked: number[] = [];
  const page = async (most: number, from = 0): Promise<Page<number, number>> => {
    asked.push(most);
    const end = from + Math.min(most, asked.length % 2 === 0 ? shortest : most);
    return { rows: rows.slice(from, end), next: end < rows.length ? end : undefined };
  };
  return { asked, page };
}

it("more rows than a page holds are gathered from several, and never more than were asked for", async () => {
  const { asked, page } = pagesOf(1_000);
  expect(await upTo(2_200, page)).toEqual({ rows: rows.slice(0, 2_200), next: 2_200 });
  expect(asked).toEqual([1_000, 1_000, 200]);
});

it("a page that is short or empty is gone on from, and the last one says that there are no more", async () => {
  const { asked, page } = pagesOf(0);
  expect(await upTo(9_000, page)).toEqual({ rows, next: undefined });
  expect(asked).toEqual([1_000, 1_000, 1_000, 1_000, 1_000]);
});
