/** Presses of the mouse and of keys, and the requests that a page sent for them. */
import type { Page, Request } from "playwright-core";
import { approve, armed, drawn, mail } from "./card.ts";
import type { RuntimeFixture } from "./console-fixture.ts";

/** Two requests that wait, the first of them more urgent: its card is open, and the list shows both. */
export async function two(postern: RuntimeFixture, name: string): Promise<readonly [string, string]> {
  return [await postern.ask("send_email", mail(`${name} 1`)), await postern.ask("send_email", mail(`${name} 2`))];
}

/** Waits until the card accepts a press and the list shows the next request. */
export async function ready(page: Page): Promise<void> {
  await armed(page);
  await page
    .getByRole("link", { name: /send_email/ })
    .nth(1)
    .waitFor();
}

/** Of the button that approves. */
export async function middle(page: Page): Promise<readonly [number, number]> {
  const box = await approve(page).boundingBox();
  if (box === null) throw new Error("There is no button.");
  return [box.x + box.width / 2, box.y + box.height / 2];
}

export async function pause(page: Page, ms: number): Promise<void> {
  await page.evaluate(`new Promise((done) => setTimeout(done, ${ms}))`);
}

/**
 * Watches what the page sends to change something. What it answers waits until all that the presses so far have set off
 * is sent and answered: what is not decided then, they do not decide.
 */
export function watched(page: Page): () => Promise<void> {
  const sent: Request[] = [];
  page.on("request", (request) => {
    if (request.method() !== "GET") sent.push(request);
  });
  return async () => {
    await drawn(page);
    await page.evaluate('fetch("/healthz").then(() => undefined)'); // earlier requests are reported before this one
    await Promise.all(sent.map((request) => request.response()));
  };
}
