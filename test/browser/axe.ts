import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What a screen reader or a keyboard would stumble over: a line each. The page's policy lets no script in, so it is put in from outside. */
export async function stumbles(page: Page): Promise<readonly string[]> {
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
