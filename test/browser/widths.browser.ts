/** A long name chosen by an agent, a tool or a server widens no screen and hides nothing beside it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { everyRole, type RuntimeFixture } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";
import { closed } from "./tour.ts";

const long = (word: string, length: number): string => word.padEnd(length, "x");
const tool = long("tool_", 60);
const server = long("server-", 32);
const run = long("run-", 64);
const user = long("user", 60);
const rule = long("rule-", 60);
const file = `${long("folder-", 100)}/${long("file-", 100)}.txt`;

const { postern, at } = setUp({
  people: { [user]: everyRole },
  server: true,
  prepare: async ({ folder }: RuntimeFixture) => {
    const config = join(folder, "postern.yaml");
    const text = readFileSync(config, "utf8")
      .replace("[./tools.ts]", "[./tools.ts, ./long.ts]")
      .replace("  everything:\n", `  ${server}:\n`)
      .replace("  rules:\n", `  rules:\n    - { id: ${rule}, effect: confirm, tool: ${tool} }\n`);
    writeFileSync(config, text);
    const define = JSON.stringify(join(import.meta.dirname, "../../packages/postern/src/tools/define.ts"));
    writeFileSync(
      join(folder, "long.ts"),
      `import { defineTool } from ${define};
export const long = defineTool({ name: ${JSON.stringify(tool)}, description: "Has a long name.", risk: "high", effects: "write", idempotent: false,
  inputSchema: { type: "object", properties: { ${long("argument", 60)}: { type: "string" }, file: { type: "string" } } },
  preview: ({ file }) => ({ summary: "Changes " + file, diff: "--- a/" + file + "\\n+++ b/" + file + "\\n@@ -1,1 +1,1 @@\\n-a\\n+b",
    table: { columns: ["file", ${JSON.stringify(long("column", 60))}], rows: [[file, "b"]] } }),
  execute: () => "done" });
`,
    );
  },
});

/** Elements that are too wide: they scroll sideways, or are cut off without an ellipsis. */
const wider = `(() => {
  const shown = (element) => element.tagName.toLowerCase() + "." + element.className + " " + element.scrollWidth + " in " + element.clientWidth;
  const found = [];
  const root = document.scrollingElement;
  if (root.scrollWidth > innerWidth) found.push("the page is " + root.scrollWidth);
  for (const element of document.querySelectorAll("body *")) {
    if (element.scrollWidth <= element.clientWidth + 1 || element.clientWidth <= 1 || element.closest("svg, textarea, input, select")) continue;
    const { overflowX, textOverflow, display } = getComputedStyle(element);
    const isMeant = /\\boverflow-(x-)?auto\\b/.test(element.className) || textOverflow === "ellipsis" || /line-clamp/.test(element.className);
    if (overflowX !== "visible" && display !== "inline" && !isMeant) found.push(shown(element));
  }
  for (const element of document.querySelectorAll("main a, main button, main time, main h2, dialog *")) {
    const { left, right, width } = element.getBoundingClientRect();
    const scroller = element.closest(".overflow-x-auto, .overflow-auto");
    if (width > 1 && scroller === null && (left < -1 || right > innerWidth + 1)) found.push(shown(element) + " ends at " + right);
  }
  return found;
})()`;

/** Of an agent with a long name, which calls for a user with one. */
async function agentToken(page: Page): Promise<string> {
  const proof = await page.evaluate<string>(`localStorage.getItem("postern.proof")`);
  const answer = await page.request.post("/v1/tokens", {
    data: { name: `agent ${page.viewportSize()?.width}`, kind: "agent", agent: long("agent-", 60), user },
    headers: { origin: postern.url, "x-postern-csrf": proof },
  });
  if (!answer.ok()) throw new Error(await answer.text());
  const { token }: { readonly token: string } = await answer.json();
  return token;
}

async function askAs(token: string, body: object): Promise<void> {
  const answer = await fetch(`${postern.url}/v1/calls`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(await answer.json()).toMatchObject({ status: "pending" });
}

async function looks(page: Page): Promise<readonly string[]> {
  await page.locator("[aria-label=Loading]").first().waitFor({ state: "hidden" });
  return page.evaluate<readonly string[]>(wider);
}

describe.each([390, 1280])("names of the greatest length, on a screen of %i px", (width) => {
  it("do not widen any screen or dialog", async () => {
    const more = { run_id: `${run.slice(0, -4)}${width}` };
    const given = { [long("argument", 60)]: "y".repeat(300), file };
    for (const unknown of [long("unknown_", 60), long("unknown_", 150)]) await postern.call(unknown, {}, more);
    await postern.call(`${server}__echo`, { message: long("message", 300) }, more);
    const id = await postern.ask(tool, given, { ...more, reason: long("reason", 300) });
    await postern.ask(tool, { ...given, file: "other" }, { ...more, reason: file });
    await using person = await at("/approvals", user, { viewport: { width, height: 844 } });
    const { page } = person;
    await askAs(await agentToken(page), { tool, arguments: given, run_id: `${width}${run.slice(4)}` });
    const found: Record<string, readonly string[]> = {};
    const stops: readonly (readonly [path: string, open?: RegExp])[] = [
      ["/approvals"],
      [`/approvals/${id}`],
      ...[/^Edit…/, /^Remember…/, /^Deny…/, /^Review/].map((open) => [`/approvals/${id}`, open] as const),
      ["/approvals", /^Remembered/],
      ["/needs"],
      ["/overview"],
      ["/overview", /^Alarms/],
      ["/runs"],
      [`/runs/${more.run_id}`],
      ["/tools"],
      [`/tools/${tool}`],
      [`/servers/${server}`],
      ["/policy"],
      ["/audit"],
      ["/audit/12"],
    ];
    let here = "";
    for (const [path, open] of stops) {
      if (path === here) await closed(page);
      else {
        await page.goto(path);
        await person.live();
        await looks(page);
      }
      here = path;
      if (open !== undefined) {
        await page.getByRole("button", { name: open }).first().click();
        await page.getByRole("dialog").waitFor();
      }
      const wide = await looks(page);
      if (wide.length > 0) found[`${path} ${open?.source ?? ""}`] = wide;
    }
    expect(found).toEqual({});
    await page.goto(width === 390 ? "/approvals" : `/approvals/${id}`);
    const row = page.getByRole("region", { name: "Requests that wait" }).getByRole("link").first();
    for (const beside of [row.getByText("high", { exact: true }), row.locator("time")]) {
      const box = await beside.boundingBox();
      expect(box === null ? 0 : box.x + box.width).toBeLessThan(width === 390 ? 390 : 600);
    }
    expect(person.problems).toEqual([]);
  });
});
