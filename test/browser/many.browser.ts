import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { defineTool } from "../../src/index.ts";
import type { House } from "./house.ts";
import { inside } from "./inside.ts";
import { Pace, p95 } from "./pace.ts";
import { stage } from "./stage.ts";

const many = Number(process.env["PENDING"] ?? 10_000);

const { house, open } = stage({
  prepare: async (before: House) => {
    // The very tool that the house offers: whose request it is does not change when it is opened.
    const { say }: { readonly say: ReturnType<typeof defineTool> } = await import(join(before.folder, "tools.ts"));
    const principal = { tenant: "default", agent: "local-agent", via: "token:agent" };
    const options = {
      tools: [say],
      policy: { rules: [{ id: "ask-post-text", effect: "confirm", tool: "post_text" }] },
      approvals: { patience: "suspend", ttlMs: 3_600_000 },
      autonomy: "A4",
    } as const;
    const began = performance.now();
    await inside(before, options, (runtime, at) => {
      const call = { tool: "post_text", arguments: { text: `number ${at}` } };
      return at < many && runtime.invoke(call, { principal, runId: `run-${at - (at % 100)}` });
    });
    console.log(`${many} requests asked in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  },
});

// What is measured is the list, not a process that has just started.
beforeAll(async () => void (await house.operator("GET", "/v1/approvals?state=pending&limit=200")));

describe("ten thousand pending requests", () => {
  it("are a list that scrolls without waiting, and each page of it is read in at most 100 ms", async () => {
    await using grace = await open();
    const reads: number[] = [];
    grace.page.on("requestfinished", (request) => {
      if (!request.url().includes("/v1/approvals?")) return;
      const { responseStart, requestStart } = request.timing();
      reads.push(responseStart - requestStart);
    });
    await grace.signIn("grace");
    const list = grace.page.getByRole("region", { name: "Requests that wait" });
    await list.getByRole("link").first().waitFor();
    await grace.page.getByRole("button", { name: `All ${many}` }).waitFor();
    const pace = new Pace(grace.page);
    for (let round = 0; round < 10; round += 1) await pace.sample();
    const frames = await grace.page.evaluate<Frames>(scrollAndCount);
    for (let round = 0; round < 10; round += 1) await pace.sample();
    console.log(
      `scrolling: a frame takes ${frames.medianMs.toFixed(0)} ms, p95 ${frames.p95Ms.toFixed(0)} ms; reads p95 ${p95(reads).toFixed(0)} ms of ${reads.length}; a round trip ${pace.p95Ms.toFixed(0)} ms`,
    );
    expect(await list.getByRole("link").count()).toBeLessThan(60); // only what is in sight is in the page
    expect(p95(reads)).toBeLessThan(pace.bar(100));
    expect(frames.p95Ms).toBeLessThan(pace.bar(100));
    await grace.page.getByRole("button", { name: "Approve once" }).click();
    await grace.page.getByText("runs once, with exactly these arguments").waitFor();
    expect(grace.problems).toEqual([]);
  });
});

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
