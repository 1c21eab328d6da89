/** Every screen, dialog and state, at desk and phone width, in both themes: nothing that others would stumble over, nothing too wide. */
import { describe, expect, it } from "vitest";
import { stumbles } from "./axe.ts";
import type { Person } from "./browser.ts";
import { everyRole, House } from "./house.ts";
import { scene } from "./scene.ts";
import { stage } from "./stage.ts";
import { everyScreen, everyState, widths } from "./tour.ts";

const { open } = stage();

/** Each pair once with either: what differs between themes is colour, between widths the layout. */
const looks = [
  { colorScheme: "light", ...widths[0] },
  { colorScheme: "dark", ...widths[1] },
  { colorScheme: "dark", ...widths[0] },
] as const;

/** Some forty stops, each searched whole. */
const walkMs = 300_000;

async function isFine({ page }: Person, name: string): Promise<void> {
  expect(await stumbles(page), name).toEqual([]);
  const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  expect(wide, `${name} is wider than its window`).toBeLessThanOrEqual(0);
}

describe.each(looks)("$colorScheme, $name", ({ name: _, ...options }) => {
  it(
    "every screen and dialog",
    async () => {
      await using house = await House.open(); // what one walk decides is decided for the next
      await house.account("grace", everyRole);
      const shown = await scene(house);
      await using grace = await open(options, house.url);
      await grace.signIn("grace", "/approvals");
      await everyScreen(grace, { house, shown }, (name) => isFine(grace, name));
      expect(grace.problems).toEqual([]);
    },
    walkMs,
  );

  it(
    "empty, loading, failed, and without an answer",
    async () => {
      await using bare = await House.open();
      await bare.account("grace", everyRole);
      await using grace = await open(options, bare.url);
      await grace.signIn("grace");
      await everyState(grace, bare, (name) => isFine(grace, name));
      expect(grace.problems).toEqual([]);
    },
    walkMs,
  );
});
