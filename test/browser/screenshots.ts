/** `npm run docs [-- FOLDER]`: every screen, in both themes, at desktop and phone width; by default into temp/screenshots. With `--guide` it also replaces the images of the guide. */
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { openBrowser, Person } from "./browser.ts";
import { everyRole, password, RuntimeFixture } from "./console-fixture.ts";
import { scene, ways } from "./scene.ts";
import { everyScreen, everyState, widths, withoutRoles } from "./tour.ts";

const root = join(import.meta.dirname, "../..");
const [given] = process.argv.slice(2).filter((word) => word !== "--guide");
const folder = resolve(given ?? join(root, "temp/screenshots"));
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
await using postern = await RuntimeFixture.open(ways);
await postern.account("grace", everyRole);
await postern.account("nora", []);
const shown = await scene(postern);
for (const colorScheme of ["light", "dark"] as const) {
  for (const { name: width, ...options } of widths) {
    const keep = (person: Person) => async (name: string) => {
      await person.page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
    };
    await using grace = await Person.open(browser, postern.url, { ...options, colorScheme });
    await grace.page.goto("/sign-in");
    await grace.page.getByLabel("Name").waitFor();
    await keep(grace)("sign-in");
    await grace.signIn("grace");
    await everyScreen(grace, { postern, shown }, keep(grace));
    await using nora = await Person.open(browser, postern.url, { ...options, colorScheme });
    await withoutRoles(nora, { name: "nora", password }, keep(nora));
    await using bare = await RuntimeFixture.open();
    await bare.account("grace", everyRole);
    await using early = await Person.open(browser, bare.url, { ...options, colorScheme });
    await early.signIn("grace");
    await everyState(early, bare, keep(early));
  }
}
await browser.close();
const guide = join(root, "docs/guide/images");
if (process.argv.includes("--guide"))
  for (const name of readdirSync(guide)) copyFileSync(join(folder, name), join(guide, name));
console.log(folder);
