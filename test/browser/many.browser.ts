import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { defineTool } from "../../packages/postern/src/index.ts";
import type { RuntimeFixture } from "./console-fixture.ts";
import { inside } from "./inside.ts";
import { Pace } from "./pace.ts";
import { setUp } from "./set-up.ts";

const many = Number(process.env["PENDING"] ?? 10_000);
const few = 100;

const { postern, open } = setUp({ prepare: (before) => holdRequests(before, many) });
const { postern: fewer } = setUp({ people: {}, prepare: (before) => holdRequests(before, few) });

async function holdRequests(before: RuntimeFixture, count: number): Promise<void> {
  // The same tool that the server has: a request keeps its tool when the server starts.
  const { say }: { readonly say: ReturnType<typeof defineTool> } = await import(join(before.folder, "tools.ts"));
  const principal = { tenant: "default", agent: "local-agent", via: "token:agent" };
  const options = {
    tools: [say],
    policy: { rules: [{ id: "ask-post-text", effect: "confirm", tool: "post_text" }] },
    approvals: { patience: "suspend", ttlMs: 3_600_000, maxOpenPerAgent: count },
    autonomy: "A4",
  } as const;
  await inside(before, options, (runtime, at) => {
    const call = { tool: "post_text", arguments: { text: `number ${at}` } };
    return at < count && runtime.invoke(call, { principal, runId: `run-${at - (at % 100)}` });
  });
}

/** Reads the page of 20 after `after`. The first page is not measured: it also counts all that is pending. */
async function readPage(of: RuntimeFixture, after: string): Promise<{ readonly ms: number; readonly next: string }> {
  const began = performance.now();
  const page = await of.operator("GET", `/v1/approvals?state=pending&limit=20${after === "" ? "" : `&after=${after}`}`);
  return { ms: performance.now() - began, next: String(page["next_after"]) };
}

describe(`${many} pending requests`, () => {
  it("are read a page at a time, in at most twice the time of a page of a hundred", async () => {
    const { next: start } = await readPage(fewer, "");
    let { next } = await readPage(postern, "");
    const times = { many: [] as number[], few: [] as number[] };
    for (let round = 0; round < 60; round += 1) {
      times.few.push((await readPage(fewer, start)).ms);
      const page = await readPage(postern, next);
      times.many.push(page.ms);
      next = page.next;
    }
    const [slow, fast] = [median(times.many.slice(20)), median(times.few.slice(20))]; // the first ones warm up
    console.log(`a page of ${many} takes ${slow.toFixed(1)} ms, of ${few} ${fast.toFixed(1)} ms`);
    expect(slow / fast).toBeLessThan(2);
  });

  it("are a list that scrolls without delay", async () => {
    await using grace = await open();
    await grace.signIn("grace");
    const list = grace.page.getByRole("region", { name: "Requests that wait" });
    await list.getByRole("link").first().waitFor();
    await grace.page.getByRole("button", { name: `All ${many.toLocaleString("en")}` }).waitFor();
    const pace = new Pace(grace.page);
    for (let round = 0; round < 10; round += 1) await pace.sample();
    const frames = await grace.page.evaluate<Frames>(scrollAndCount);
    for (let round = 0; round < 10; round += 1) await pace.sample();
    console.log(
      `scrolling: a frame takes ${frames.medianMs.toFixed(0)} ms, p95 ${frames.p95Ms.toFixed(0)} ms; a round trip ${pace.p95Ms.toFixed(0)} ms`,
    );
    expect(await list.getByRole("link").count()).toBeLessThan(60); // only what is in sight is in the page
    expect(frames.p95Ms).toBeLessThan(pace.bar(100));
    await grace.page.getByRole("button", { name: "Approve once" }).click();
    await grace.page.getByText("Approved: ").waitFor();
    expect(grace.problems).toEqual([]);
  });
});

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

interface Frames {
  readonly medianMs: number;
  readonly p95Ms: number;
}

/** Runs in the page: three hundred steps down, and how long the frames took. */
const scrollAndCount = `(async () => {
  const list = document.querySelector('[aria-label^="Requests that wait"]');
  const frames = [];
  let last = performance.now();
  for (let step = 0; step < 300; step += 1) {
    list.scrollTop += 160;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  frames.sort((a, b) => a - b);
  return { medianMs: frames[150], p95Ms: frames[285] };
})()`;
