/** `npm run screenshots [-- FOLDER]`: every screen, in both themes, at desk and phone width; by default into temp/screenshots. */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Browser } from "playwright-core";
import { openBrowser, Person } from "./browser.ts";
import { House } from "./house.ts";
import { scene } from "./scene.ts";

const folder = resolve(process.argv[2] ?? join(import.meta.dirname, "../../temp/screenshots"));
const widths = [
  { name: "desk", viewport: { width: 1440, height: 900 } },
  { name: "phone", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
] as const;

mkdirSync(folder, { recursive: true });
await using house = await House.open();
const password = await house.account("grace", ["approver", "operator", "auditor", "admin"]);
const { mail, critical } = await scene(house);
/** `open`: a button that is pressed before the picture is taken. */
const screens: readonly { readonly name: string; readonly path: string; readonly open?: RegExp }[] = [
  { name: "approvals", path: "/approvals" },
  { name: "approval", path: `/approvals/${mail}` },
  { name: "approval-critical", path: `/approvals/${critical}` },
  { name: "overview", path: "/overview" },
  { name: "runs", path: "/runs" },
  { name: "run", path: "/runs/run-invoices" },
  { name: "run-script", path: "/runs/run-late-invoices", open: /tool_chain/ },
  { name: "tools", path: "/tools" },
  { name: "tool", path: "/tools/send_email" },
  { name: "policy", path: "/policy" },
  { name: "audit", path: "/audit" },
  { name: "audit-event", path: "/audit/12" },
  { name: "deputies", path: "/approvals", open: /^Deputies/ },
  { name: "alarms", path: "/overview", open: /^Alarms/ },
];
const browser = await openBrowser();
for (const colorScheme of ["light", "dark"] as const) await shoot(browser, colorScheme);
await browser.close();
console.log(folder);

async function shoot(from: Browser, colorScheme: "light" | "dark"): Promise<void> {
  for (const { name: width, ...options } of widths) {
    await using person = await Person.open(from, house.url, { ...options, colorScheme });
    const { page } = person;
    const keep = (name: string) => page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
    await page.goto("/sign-in");
    await page.getByLabel("Name").waitFor();
    await keep("sign-in");
    await person.signIn("grace", password);
    for (const { name, path, open } of screens) {
      await page.goto(path);
      await person.live();
      await page.locator("[aria-label=Loading]").first().waitFor({ state: "hidden" });
      await page.evaluate("document.fonts.ready");
      if (open !== undefined) await page.getByRole("button", { name: open }).first().click();
      await page.locator("[aria-label=Loading]").first().waitFor({ state: "hidden" });
      await keep(name);
    }
  }
}
