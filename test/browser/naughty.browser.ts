import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { naughty } from "./naughty.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp();

/** Forty a request: a card shows a hundred entries of a list before it asks. */
const heaps = Array.from({ length: Math.ceil(naughty.length / 40) }, (_, at) => naughty.slice(at * 40, at * 40 + 40));

/** The text of the page, with each mark replaced by the character it names. */
async function readBack(place: Locator): Promise<readonly string[]> {
  return await place.evaluateAll((found) => {
    const read = (node: PageNode): string => {
      const [, code] = /^U\+([0-9A-F]+)$/.exec(node.title ?? "") ?? [];
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      return node.childNodes.length === 0 ? (node.textContent ?? "") : [...node.childNodes].map(read).join("");
    };
    return (found as unknown as readonly PageNode[]).map(read); // elements of the page; only these members are read
  });
}

interface PageNode {
  readonly title?: string;
  readonly textContent: string | null;
  readonly childNodes: readonly PageNode[];
}

async function isInert(page: Page): Promise<void> {
  expect(await page.evaluate("window.naughty")).toBeUndefined();
  expect(await page.locator("iframe, object, embed, [onerror], [onload], main script, main style").count()).toBe(0);
  const text = (await page.locator("main").innerText()).replaceAll(/\p{RGI_Emoji}/gv, ""); // an emoji is one picture
  expect(text).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}]/u);
}

/** A preview shows the start of a very long text; the arguments show all of it. */
function asInPreview(text: string): string {
  return text.length > 2_000 ? expect.stringMatching(/^a{900,}…$/) : text;
}

describe(`${naughty.length} naughty strings`, () => {
  it("are text in the preview, the arguments and the exact bytes, with every character", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const ids: string[] = [];
    for (const texts of heaps) ids.push(await postern.ask("post_list", { texts }, { run_id: "run-naughty" }));
    for (const [at, id] of ids.entries()) {
      const texts = heaps[at] ?? [];
      await page.goto(`/approvals/${id}`);
      await page.locator("[data-verified=yes]").waitFor();
      const cells = await readBack(page.locator("article table tbody td"));
      expect(cells).toEqual(texts.map(asInPreview));
      await isInert(page);
      await page.getByRole("tab", { name: "Exact bytes" }).click();
      const [bytes = ""] = await readBack(page.getByRole("tabpanel").locator("section"));
      expect(JSON.parse(bytes)).toEqual({ texts });
    }
    expect(grace.problems).toEqual([]);
  });

  it("are text in the audit log and the timeline of the run, as reasons of a person", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const said: string[] = [];
    for (const [at, texts] of heaps.entries()) {
      const reason = texts.join(" | ").slice(0, 1_900);
      const given = { text: `heap ${at}` };
      const id = await postern.ask("post_text", given, { run_id: "run-reasons" });
      await postern.operator("POST", `/v1/approvals/${id}/deny`, { reason });
      await postern.call("post_text", given, { run_id: "run-reasons" });
      said.push(reason);
    }
    const { events } = (await postern.operator("GET", "/v1/audit?type=gate.denied")) as {
      events: { seq: number; reason: string }[];
    };
    expect(events.map(({ reason }) => reason)).toEqual(said);
    for (const { seq, reason } of events) {
      await page.goto(`/audit/${seq}`);
      await page.getByText("This browser has checked it.").waitFor();
      expect((await readBack(page.locator("main bdi"))).some((text) => text.includes(reason))).toBe(true);
      await isInert(page);
    }
    const { calls } = (await postern.operator("GET", "/v1/runs/run-reasons/timeline")) as {
      calls: { call_id: string; state: string }[];
    };
    const denied = calls.filter(({ state }) => state === "denied").reverse(); // the timeline is new to old
    expect(denied).toHaveLength(said.length);
    for (const [at, { call_id: id }] of denied.entries()) {
      await page.goto(`/runs/run-reasons?call=${id}`);
      const isShown = async (): Promise<boolean> =>
        (await readBack(page.locator("main bdi"))).some((text) => text.includes(said[at] ?? "missing"));
      await expect.poll(isShown).toBe(true);
      await isInert(page);
    }
    expect(grace.problems).toEqual([]);
  });
});
