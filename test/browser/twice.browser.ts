/** Two presses are one decision: a double-click does not decide the next request. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { middle, pause, ready, two, watched } from "./presses.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp();

const status = async (id: string) => (await postern.approval(id))["status"];

const gapsMs: readonly number[] = [0, 80, 150, 300, 400];
/** So long a card takes no press after it appeared. */
const quietMs = 1_000;
const mostTries = 20;

type Way = (page: Page, gapMs: number) => Promise<void>;

const byMouse: Way = async (page, gapMs) => {
  await page.mouse.move(...(await middle(page)));
  for (const clickCount of [1, 2]) {
    if (clickCount === 2 && gapMs > 0) await pause(page, gapMs);
    await page.mouse.down({ clickCount });
    await page.mouse.up({ clickCount });
  }
};

const byKey: Way = async (page, gapMs) => {
  await page.keyboard.press("a");
  if (gapMs > 0) await pause(page, gapMs);
  await page.keyboard.press("a");
};

/**
 * How far apart the hand's presses were, which on a busy machine is more than was asked for. A button that is busy with
 * the first gets no second.
 */
async function apart(page: Page, press: () => Promise<void>): Promise<number> {
  await page.evaluate(`{
    window.presses = [];
    for (const type of ["mousedown", "keydown"])
      addEventListener(type, ({ timeStamp }) => window.presses.push(timeStamp), true);
  }`);
  await press();
  const [first = 0, second = first] = await page.evaluate<readonly number[]>("window.presses");
  return second - first;
}

/** Two presses close together, and the status of both requests after them. */
async function pressedTwice(name: string, gapMs: number, way: Way): Promise<readonly unknown[]> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const [first, second] = await two(postern, `${name} ${tries}`);
    await using grace = await at(`/approvals/${first}`);
    const { page } = grace;
    await ready(page);
    const settled = watched(page);
    const apartMs = await apart(page, () => way(page, gapMs));
    await page.waitForURL(`**/approvals/${second}`);
    await settled();
    const became = [await status(first), await status(second)];
    if (became[1] === "pending") await postern.operator("POST", `/v1/approvals/${second}/withdraw`, {});
    if (apartMs < quietMs) return became;
  }
  throw new Error(`This machine is too busy to press twice within ${quietMs} ms.`);
}

describe.each(gapsMs)("two presses, %i ms apart", (gapMs) => {
  it("of the mouse approve one request and not the next one", async () => {
    expect(await pressedTwice(`mouse ${gapMs}`, gapMs, byMouse)).toEqual(["approved", "pending"]);
  });

  it("of the key `a` approve one request and not the next one", async () => {
    expect(await pressedTwice(`key ${gapMs}`, gapMs, byKey)).toEqual(["approved", "pending"]);
  });
});
