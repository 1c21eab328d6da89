/** The audit explorer with a log of a hundred thousand events. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { events, longLog } from "./long-log.ts";
import { Pace, p95 } from "./pace.ts";
import { setUp } from "./set-up.ts";

const { postern, open } = setUp({ people: { ada: ["auditor"] }, prepare: longLog });

/** What the server took for each query, until its first byte. */
function queries(page: Page): readonly number[] {
  const took: number[] = [];
  page.on("requestfinished", (request) => {
    if (!request.url().includes("/v1/audit/latest")) return;
    const { responseStart, requestStart } = request.timing();
    took.push(responseStart - requestStart);
  });
  return took;
}

const told = (times: readonly number[]) => `p95 ${p95(times).toFixed(0)} ms of ${times.length}`;

describe(`${events} events`, () => {
  it("are filtered by every field, each query in at most 100 ms (p95)", async () => {
    const { size } = await postern.operator("GET", "/v1/audit/latest?limit=1");
    expect(Number(size)).toBeGreaterThanOrEqual(events);
    await using ada = await open();
    const { page } = ada;
    const took = queries(page);
    await ada.signIn("ada", "/audit");
    const rows = page.getByRole("region", { name: "Events, new to old" }).getByRole("link");
    await rows.first().waitFor();
    await page.getByRole("button", { name: "More fields" }).click();
    const pace = new Pace(page);
    const drawn: number[] = [];
    const measured = async (act: () => Promise<unknown>, there: () => Promise<unknown>): Promise<void> => {
      await pace.sample();
      const began = performance.now();
      await act();
      await there();
      drawn.push(performance.now() - began);
    };
    const typed = async (label: string, value: string, there: () => Promise<unknown>): Promise<void> => {
      const field = page.getByLabel(label, { exact: true });
      await field.fill(value);
      await measured(() => field.press("Enter"), there);
      await page.getByRole("button", { name: "Clear" }).click();
    };
    const row = (text: string) => () => rows.filter({ hasText: text }).first().waitFor();
    for (let at = 0; at < 5; at += 1) {
      await typed("Text", `needle_${99 + 100 * at}`, row(`needle_${99 + 100 * at}`)); // at the far end of the log
      await typed("Tool", `needle_${599 + 100 * at}`, row(`needle_${599 + 100 * at}`));
      await typed("Tool", `none_${at}`, () => page.getByText("No event matches").waitFor());
      await typed("Agent", `agent-${at}`, () => only(page, `agent-${at}`));
      await typed("Run", `run-${7 + 11 * at}`, () => only(page, `run-${7 + 11 * at}`));
    }
    await measured(() => page.getByLabel("Outcome").selectOption("failure"), row("flaky_fetch"));
    await page.getByRole("button", { name: "Clear" }).click();
    await measured(
      () => page.getByLabel("Kind").selectOption("tool_call."),
      () => only(page, "tool_call."),
    );
    console.log(
      `filters over ${size} events: a query ${told(took)}; drawn ${told(drawn)}; a round trip ${pace.p95Ms.toFixed(0)} ms`,
    );
    expect(p95(took)).toBeLessThan(pace.bar(100));
    // A search for a text at the far end of the log makes some fifteen queries.
    expect(p95(drawn)).toBeLessThan(pace.bar(2_000));
    expect(ada.problems).toEqual([]);
  });

  it("scroll with few rows in the page, and read the next page before the end", async () => {
    await using ada = await open();
    const { page } = ada;
    const took = queries(page);
    await ada.signIn("ada", "/audit");
    const list = page.getByRole("region", { name: "Events, new to old" });
    const first = Number(
      (
        await list
          .getByText(/^#\d+$/)
          .first()
          .textContent()
      )?.slice(1),
    );
    const pace = new Pace(page);
    const drawn: number[] = [];
    for (let read = 1; read <= 20; read += 1) {
      await pace.sample();
      const began = performance.now();
      await list.evaluate((element: unknown) => {
        const it = element as { scrollTop: number; readonly scrollHeight: number }; // this program knows no DOM; the page does
        it.scrollTop = it.scrollHeight;
      });
      await list.getByText(`#${first - 200 * read}`, { exact: true }).waitFor({ state: "attached" });
      drawn.push(performance.now() - began);
    }
    console.log(
      `a page of 200 events: a query ${told(took)}; drawn ${told(drawn)}; a round trip ${pace.p95Ms.toFixed(0)} ms`,
    );
    expect(p95(took)).toBeLessThan(pace.bar(100));
    expect(p95(drawn)).toBeLessThan(pace.bar(400));
    expect(await list.getByRole("listitem").count()).toBeLessThan(60);
    expect(ada.problems).toEqual([]);
  });
});

/** The page shows what its address asks for. */
async function only(page: Page, value: string): Promise<void> {
  await page.waitForURL((url) => url.search.includes(value));
  await page.getByRole("region", { name: "Events, new to old" }).getByRole("link").first().waitFor();
}
