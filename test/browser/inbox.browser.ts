/** An inbox that cannot be tricked: no press decides what was not looked at. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { stumbles } from "./axe.ts";
import { approve, armed, card, mail } from "./card.ts";
import type { House } from "./house.ts";
import { stage } from "./stage.ts";
import { widths } from "./tour.ts";

const { house, at } = stage({
  approvals: "  routes: [{ name: short, match: { tools: [edit_file] }, ttl_seconds: 600 }]\n",
});

const status = async (id: string, of: House = house) => (await of.approval(id))["status"];

/** Two that wait, the first of them open: a page that sends the first decision late, as over a long line. */
async function two(page: Page, name: string): Promise<readonly [string, string]> {
  const ids = [
    await house.ask("send_email", mail(`${name} 1`)),
    await house.ask("send_email", mail(`${name} 2`)),
  ] as const;
  await card(page, ids[0]);
  await page
    .getByRole("link", { name: /send_email/ })
    .nth(1)
    .waitFor();
  return ids;
}

async function middle(page: Page): Promise<readonly [number, number]> {
  const box = await approve(page).boundingBox();
  if (box === null) throw new Error("There is no button.");
  return [box.x + box.width / 2, box.y + box.height / 2];
}

const pause = (page: Page, ms: number) => page.evaluate(`new Promise((done) => setTimeout(done, ${ms}))`);

/** Long enough for a second decision to have been sent and taken. */
const settleMs = 500;

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

/** Two presses that were no more than a moment apart, and what became of the two requests. */
async function pressedTwice(name: string, gapMs: number, way: Way): Promise<readonly unknown[]> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    await using grace = await at("/approvals");
    const { page } = grace;
    const [first, second] = await two(page, `${name} ${tries}`);
    const apartMs = await apart(page, () => way(page, gapMs));
    await page.waitForURL(`**/approvals/${second}`);
    await pause(page, settleMs);
    const became = [await status(first), await status(second)];
    if (became[1] === "pending") await house.operator("POST", `/v1/approvals/${second}/withdraw`, {});
    if (apartMs < quietMs) return became;
  }
  throw new Error(`This machine is too busy to press twice within ${quietMs} ms.`);
}

describe.each(gapsMs)("two presses, %i ms apart", (gapMs) => {
  it("of the mouse approve one request, and leave the next one to be read", async () => {
    expect(await pressedTwice(`mouse ${gapMs}`, gapMs, byMouse)).toEqual(["approved", "pending"]);
  });

  it("of the key `a` do neither", async () => {
    expect(await pressedTwice(`key ${gapMs}`, gapMs, byKey)).toEqual(["approved", "pending"]);
  });
});

describe("a card that has just appeared", () => {
  it("takes a key as soon as it shows that it does", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const id = await house.ask("send_email", mail("at once"));
    // Between what was drawn and anything else that the page does.
    await page.addInitScript(`new MutationObserver((_, seen) => {
      if (document.querySelector("[data-armed=yes]") === null) return;
      seen.disconnect();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
    }).observe(document, { subtree: true, childList: true, attributes: true })`);
    await page.goto(`/approvals/${id}`);
    await expect.poll(() => status(id), { timeout: 20_000 }).toBe("approved");
  });

  it("takes no key that was pressed before, however late a busy page comes to it", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const id = await house.ask("send_email", mail("too early"));
    await page.addInitScript(`window.early = new KeyboardEvent("keydown", { key: "a", bubbles: true })`);
    await card(page, id);
    // It is told so, and the card waits anew.
    await page.evaluate(`new Promise((told) => {
      new MutationObserver(() => document.querySelector("[data-armed=no]") !== null && told())
        .observe(document, { subtree: true, childList: true, attributes: true });
      document.body.dispatchEvent(window.early);
    })`);
    await armed(page);
    expect(await status(id)).toBe("pending");
    await house.operator("POST", `/v1/approvals/${id}/withdraw`, {});
  });

  it("takes no press until nobody has tried for a second, says so, and then takes one", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const [first, second] = await two(page, "hammered");
    for (let press = 0; press < 8; press += 1) {
      await page.keyboard.press("a");
      await pause(page, 250);
    }
    expect([await status(first), await status(second)]).toEqual(["approved", "pending"]);
    expect(await approve(page).getAttribute("aria-disabled")).toBe("true");
    await page.getByRole("status").getByText("its buttons and keys work in a second").waitFor();
    expect(await stumbles(page)).toEqual([]);
    await armed(page);
    expect(await approve(page).getAttribute("aria-disabled")).toBeNull();
    await page.keyboard.press("a");
    await expect.poll(() => status(second)).toBe("approved");
  });

  it("takes back nothing by a press that was meant to approve what another person had just approved", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const id = await house.ask("send_email", mail("another was quicker"));
    await card(page, id);
    await house.operator("POST", `/v1/approvals/${id}/approve`, {});
    const back = page.getByRole("button", { name: "Take it back" });
    await back.waitFor();
    await back.click({ force: true });
    await pause(page, settleMs);
    expect(await status(id)).toBe("approved");
  });
});

describe("the open card", () => {
  it("stays when something more urgent comes, which goes to the top of the list", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const seen = await house.ask("send_email", mail("seen"));
    await page.goto("/approvals");
    await page.waitForURL(`**/approvals/${seen}`);
    await armed(page);
    await page.mouse.move(...(await middle(page)));
    const urgent = await house.ask("edit_file", { path: "/etc/passwd", from: "x", to: "y" });
    await page
      .getByRole("link", { name: /edit_file/ })
      .first()
      .waitFor();
    expect(page.url()).toContain(seen);
    await page.mouse.down();
    await page.mouse.up();
    await expect.poll(() => status(seen)).toBe("approved");
    await pause(page, settleMs);
    expect(await status(urgent)).toBe("pending");
    await page.goBack(); // the choice took the list's place in the history
    expect(page.url()).not.toMatch(/\/approvals$/);
    await house.operator("POST", `/v1/approvals/${urgent}/withdraw`, {});
  });

  it("leads on a phone from the list alone, whatever comes", async () => {
    await using grace = await at("/approvals", "grace", widths[1]);
    const id = await house.ask("send_email", mail("phone"));
    await grace.page
      .getByRole("link", { name: /send_email/ })
      .first()
      .waitFor();
    expect(new URL(grace.page.url()).pathname).toBe("/approvals");
    await house.operator("POST", `/v1/approvals/${id}/withdraw`, {});
  });
});

const rows = { table: "orders", set: { state: "closed" }, limit: 3 };

describe("a request that changes while its card is open and live", () => {
  const strict = stage({
    people: { grace: ["approver"], linus: ["approver"] },
    approvals: "  routes: [{ name: two-people, match: { tools: [update_rows, transfer_money] }, quorum: 2 }]\n",
  });
  const { house: pair } = strict;
  const understood = (page: Page) => page.getByRole("button", { name: "Understood" });

  it.each(["mouse", "key"])("is not approved by the %s before what is new is understood", async (by) => {
    const id = await pair.ask("update_rows", { ...rows, table: `orders by ${by}` });
    await using grace = await strict.at(`/approvals/${id}`);
    await using linus = await strict.at(`/approvals/${id}`, "linus");
    const { page } = grace;
    await armed(page);
    await armed(linus.page);
    await linus.page.getByRole("button", { name: "Edit…" }).click();
    const dialog = linus.page.getByRole("dialog");
    await dialog.getByLabel("limit").fill("1000");
    await dialog.getByRole("button", { name: "Approve as edited" }).click();
    await page.getByText("This request changed while you looked at it").waitFor();
    await page.getByText('+  "limit": 1000').waitFor();
    if (by === "mouse") await approve(page).click({ force: true });
    else await page.keyboard.press("a");
    await pause(page, 1_500); // and waiting alone does not arm it
    if (by === "mouse") await approve(page).click({ force: true });
    else await page.keyboard.press("a");
    await pause(page, settleMs);
    expect(await pair.approval(id)).toMatchObject({ status: "pending", votes: [{ by: "linus" }] });
    expect(await stumbles(page)).toEqual([]);
    expect(await linus.page.getByText("This request changed").count()).toBe(0); // it is no news to who did it
    await understood(page).click();
    if (by === "mouse") await approve(page).click();
    else {
      await armed(page);
      await page.keyboard.press("a");
    }
    await expect.poll(() => status(id, pair)).toBe("approved");
    expect([...grace.problems, ...linus.problems]).toEqual([]);
  });

  it("sends the digest of what was understood, so that the server refuses what came between", async () => {
    const id = await pair.ask("update_rows", { ...rows, table: "between" });
    await using grace = await strict.at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    const { shown_digest } = await pair.approval(id);
    await page.route(`**/v1/approvals/${id}/approve`, async (route) => {
      // A moment before it arrives, the arguments are others.
      await as("linus", pair, `/v1/approvals/${id}/modify`, {
        arguments: { ...rows, table: "between", limit: 1000 },
        expected_digest: shown_digest,
      });
      await route.continue();
    });
    const [answered] = await Promise.all([
      page.waitForResponse((answer) => answer.url().endsWith("/approve")),
      approve(page).click(),
    ]);
    expect(answered.status()).toBe(409);
    expect(answered.request().postDataJSON()).toMatchObject({ expected_digest: shown_digest });
    await understood(page).waitFor();
    expect(await pair.approval(id)).toMatchObject({ status: "pending", votes: [{ by: "linus" }] });
  });

  it("holds a batch of which one changed, and takes no press in its first second", async () => {
    const run = { run_id: "run-batch" };
    const ids = [await pair.ask("update_rows", rows, run), await pair.ask("update_rows", { ...rows, limit: 4 }, run)];
    await using grace = await strict.at(`/approvals/${ids[0]}`);
    const { page } = grace;
    await page.getByRole("button", { name: "Decide them together…" }).click();
    const dialog = page.getByRole("dialog");
    const yes = dialog.getByRole("button", { name: "Approve 2, each once" });
    expect(await yes.isDisabled()).toBe(true);
    const wait = dialog.getByRole("status").getByText("work in a second");
    await wait.waitFor({ state: "attached" });
    await expect.poll(() => yes.isDisabled(), { timeout: 5_000 }).toBe(false);
    expect(await wait.count()).toBe(0);
    await as("linus", pair, `/v1/approvals/${ids[1]}/modify`, { arguments: { ...rows, limit: 1000 } });
    await dialog.getByText("1 of these changed").waitFor();
    expect(await yes.isDisabled()).toBe(true);
    expect(await stumbles(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Show them as they are" }).click();
    await dialog.getByText("1000").waitFor();
    await yes.click();
    await expect.poll(() => status(ids[1] ?? "", pair)).toBe("approved");
    expect(await pair.approval(ids[0] ?? "")).toMatchObject({ status: "pending", votes: [{ by: "grace" }] });
  });

  it.each(widths)(
    "holds every dialog that is open, $name, shows what is new in it, and keeps what was typed",
    async (width) => {
      const { name: _, ...options } = width;
      for (const [button, tool, given, other] of [
        [/^Edit…/, "update_rows", { ...rows, table: `edit ${width.name}` }, { limit: 2 }],
        [/^Deny…/, "update_rows", { ...rows, table: `deny ${width.name}` }, { limit: 2 }],
        // Nothing is remembered where a quorum is asked, and without one an edit decides.
        [/^Approve…/, "transfer_money", { to: `DE ${width.name}`, amount: 1 }, { amount: 2 }],
      ] as const) {
        const id = await pair.ask(tool, given);
        await using grace = await strict.at(`/approvals/${id}`, "grace", options);
        const { page } = grace;
        const opener = page.getByRole("button", { name: button });
        await armed(page);
        await opener.click();
        const dialog = page.getByRole("dialog");
        const yes = dialog.getByRole("button", { name: /^(Approve|Deny)/ }).last();
        if (button.source.includes("Edit")) await dialog.getByLabel("table").fill("typed");
        if (button.source.includes("Approve")) await dialog.getByRole("textbox").fill(tool);
        await expect.poll(() => yes.isDisabled(), { timeout: 5_000 }).toBe(false);
        await as("linus", pair, `/v1/approvals/${id}/modify`, {
          arguments: { ...given, ...other },
          ...(tool === "transfer_money" && { confirmation: tool }),
        });
        await dialog.getByText("This request changed while you looked at it").waitFor();
        expect(await yes.isDisabled()).toBe(true);
        expect(await stumbles(page), button.source).toEqual([]);
        await understood(page).last().click();
        if (button.source.includes("Edit")) {
          await dialog.getByLabel("limit").and(page.locator("[value='2']")).waitFor(); // the other's edit, and what was typed
          expect(await dialog.getByLabel("table").inputValue()).toBe("typed");
        }
        expect(await yes.isDisabled()).toBe(false);
      }
    },
  );
});

/** A word said elsewhere, in a session of its own. */
async function as(name: string, { url }: House, path: string, body: object): Promise<void> {
  const origin = { origin: url, "content-type": "application/json" };
  const signedIn = await fetch(`${url}/v1/session`, {
    method: "POST",
    headers: origin,
    body: JSON.stringify({ name, password: "correct horse battery" }),
  });
  const { csrf }: { readonly csrf: string } = JSON.parse(await signedIn.text());
  const cookie = signedIn.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");
  const said = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { ...origin, cookie, "x-postern-csrf": csrf },
    body: JSON.stringify(body),
  });
  if (!said.ok) throw new Error(`${path}: ${said.status} ${await said.text()}`);
}
