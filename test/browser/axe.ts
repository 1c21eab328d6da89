import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The accessibility problems that axe finds, one a line. The page's policy blocks added scripts, so the browser runs axe. */
export async function problemsOfAxe(page: Page): Promise<readonly string[]> {
  await page.evaluate(source);
  return await page.evaluate(async () => {
    interface Found {
      readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
    }
    const { axe } = globalThis as unknown as { readonly axe: { run(): Promise<Found> } }; // the script above made it
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  });
}
