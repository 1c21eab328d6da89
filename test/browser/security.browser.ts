import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import type { Person } from "./browser.ts";
import { setUp } from "./set-up.ts";

const { postern, open } = setUp({ server: true });

const screens = ["/needs", "/approvals", "/overview", "/runs", "/tools", "/policy", "/audit"] as const;

describe("the page", () => {
  it("shows bidirectional marks and escapes by name", async () => {
    await using grace = await open();
    const id = await postern.ask("post_text", { text: "turn \u202Eit \u001b[31m around" });
    await grace.signIn("grace", `/approvals/${id}`);
    await grace.page.getByText("RLO").first().waitFor();
    await grace.page.getByText("ESC").first().waitFor();
    const drawn = await grace.page.locator("article").innerText();
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(drawn).not.toMatch(/[\u202e\u001b]/);
  });

  it("has a content policy without inline parts, cannot be framed, and caches only fixed files", async () => {
    const page = await fetch(`${postern.url}/approvals`, { headers: { accept: "text/html" } });
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("cache-control")).toBe("no-cache");
    const [, script = ""] = /src="(\/assets\/[^"]+)"/.exec(await page.text()) ?? [];
    const asset = await fetch(`${postern.url}${script}`);
    expect(asset.headers.get("cache-control")).toContain("immutable");
  });

  it("leaves the paths of the API to the API", async () => {
    for (const path of ["/v1/nothing", "/mcp", "/v1/../v1/approvals", "/assets/nothing.js"]) {
      const answer = await fetch(`${postern.url}${path}`, { headers: { accept: "text/html" } });
      expect(answer.status, path).toBe(401);
      expect(answer.headers.get("content-type"), path).toContain("application/json");
    }
  });
});

describe.each(["light", "dark"] as const)("accessible, %s", (colorScheme) => {
  let grace: Person;
  beforeAll(async () => {
    grace = await open({ colorScheme, bypassCSP: true });
    await postern.ask("edit_file", { path: `${colorScheme}.yaml`, from: "  replicas: 2", to: "  replicas: 20" });
  });
  afterAll(() => grace[Symbol.asyncDispose]());

  it.each(["/sign-in", ...screens])("axe finds nothing on %s, and nothing is wider than a phone", async (path) => {
    const { page } = grace;
    await page.setViewportSize({ width: 1280, height: 800 });
    if (path === screens[0]) await grace.signIn("grace", path);
    else await page.goto(path);
    await page.locator("main").waitFor();
    await settled(page);
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  });
});

async function settled(page: Page): Promise<void> {
  await page.locator("[aria-label=Loading]").first().waitFor({ state: "hidden" });
}
