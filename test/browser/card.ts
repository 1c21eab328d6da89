/** The card of a request and its controls. */
import type { Locator, Page } from "playwright-core";

export function mail(subject: string): { readonly to: string; readonly subject: string; readonly body: string } {
  return { to: "ada@example.org", subject, body: "Hello Ada" };
}

export function approve(page: Page): Locator {
  return page.getByRole("button", { name: /^Approve (?:once|·)/ });
}

/** Opens it, and waits until its keys and buttons take a press. */
export async function card(page: Page, id: string): Promise<void> {
  await page.goto(`/approvals/${id}`);
  await armed(page);
}

export async function armed(page: Page): Promise<void> {
  await page.locator("[data-armed=yes]").waitFor();
}

/** Until the page has drawn it and answers again. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}
