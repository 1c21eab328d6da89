import { expect, it } from "vitest";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp();

it("marks invisible characters and look-alike letters on a card, and leaves emoji", async () => {
  await using grace = await at("/approvals");
  const { page } = grace;
  const to = "аda@exаmple.org";
  const body = "Hello\ufe0f Ada\u{e0172}\u{e016d},\u3164 pay ❤️ 👩‍👩‍👧 at pаypal.com\u034f";
  const id = await postern.ask("send_email", { to, subject: "Invoice\u2065 1042", body }, { run_id: "run-hidden" });
  await page.goto(`/approvals/${id}`);
  await page.locator("[data-verified=yes]").waitFor();
  const marks = await page
    .locator("article [title^='U+']")
    .evaluateAll((found) => (found as unknown as readonly { readonly title: string }[]).map(({ title }) => title));
  for (const code of ["U+0430", "U+FE0F", "U+E0172", "U+E016D", "U+3164", "U+034F", "U+2065"])
    expect(marks, code).toContain(code);
  expect(marks.filter((code) => code === "U+200D" || code === "U+2764")).toEqual([]);
  expect(await page.locator("article").innerText()).toContain("❤️ 👩‍👩‍👧");
  if (process.env["PICTURE"] !== undefined) await page.screenshot({ path: process.env["PICTURE"], fullPage: true });
});
