/** Every screen, dialog and state at desktop and phone width, in both themes: no accessibility problem, nothing too wide. */
import { beforeAll, describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import type { Person } from "./browser.ts";
import { everyRole, password, RuntimeFixture } from "./console-fixture.ts";
import { type Shown, scene, ways } from "./scene.ts";
import { setUp } from "./set-up.ts";
import { everyScreen, everyState, widths, withoutRoles } from "./tour.ts";

const { postern, open, at } = setUp({ ...ways, people: { grace: everyRole, nora: [] } });

/** Each pair once with either: what differs between themes is colour, between widths the layout. */
const looks = [
  { colorScheme: "light", ...widths[0] },
  { colorScheme: "dark", ...widths[1] },
  { colorScheme: "dark", ...widths[0] },
] as const;

/** Some fifty stops, each checked by axe. */
const walkMs = 300_000;

let shown: Shown;
beforeAll(async () => {
  shown = await scene(postern);
});

async function isFine({ page }: Person, name: string): Promise<void> {
  expect(await problemsOfAxe(page), name).toEqual([]);
  const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  expect(wide, `${name} is wider than its window`).toBeLessThanOrEqual(0);
}

describe.each(looks)("$colorScheme, $name", ({ name: _, ...options }) => {
  it(
    "every screen and dialog",
    async () => {
      await using grace = await at("/approvals", "grace", options); // this person decides nothing
      await everyScreen(grace, { postern, shown }, (name) => isFine(grace, name));
      expect(grace.problems).toEqual([]);
    },
    walkMs,
  );

  it("a person without a role", async () => {
    await using nora = await open(options);
    await withoutRoles(nora, { name: "nora", password }, (name) => isFine(nora, name));
    expect(nora.problems).toEqual([]);
  });

  it(
    "empty, loading, failed and unreachable",
    async () => {
      await using bare = await RuntimeFixture.open();
      await bare.account("grace", everyRole);
      await using grace = await open(options, bare.url);
      await grace.signIn("grace");
      await everyState(grace, bare, (name) => isFine(grace, name));
      expect(grace.problems).toEqual([]);
    },
    walkMs,
  );
});
