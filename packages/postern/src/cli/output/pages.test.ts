import { expect, it } from "vitest";
import { allPages } from "./print.ts";

const rows = Array.from({ length: 2_500 }, (_, at) => at);

/** Answers as routes do: at most `limit` of the rows that follow, and whether there are more. Every second page has only `shortest`. */
function pagesOf(shortest: number) {
  const asked: number[] = [];
  const page = async ({ limit = 0, after = 0 }: { readonly limit?: number; readonly after?: number }) => {
    asked.push(limit);
    const end = after + Math.min(limit, asked.length % 2 === 0 ? shortest : limit);
    return { rows: rows.slice(after, end), ...(end < rows.length && { next_after: end }) };
  };
  return { asked, page };
}

it("gathers rows from several pages, and never more than the limit", async () => {
  const { asked, page } = pagesOf(1_000);
  expect(await allPages({ limit: 2_200 }, "rows", page)).toEqual({
    rows: rows.slice(0, 2_200),
    next_after: 2_200,
  });
  expect(asked).toEqual([1_000, 1_000, 200]);
});

it("goes on after a short or empty page, and ends at the last one", async () => {
  const { asked, page } = pagesOf(0);
  expect(await allPages({ limit: 9_000 }, "rows", page)).toEqual({ rows });
  expect(asked).toEqual([1_000, 1_000, 1_000, 1_000, 1_000]);
});
