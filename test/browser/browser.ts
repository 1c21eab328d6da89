/** Debian's Chromium, driven by playwright-core; each page records its errors. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { password } from "./console-fixture.ts";

const places = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export async function openBrowser(): Promise<Browser> {
  const executablePath = places.find((place) => place !== undefined && existsSync(place));
  if (executablePath === undefined) {
    throw new Error("There is no Chromium: `apt-get install chromium` brings one, or name yours in CHROMIUM.");
  }
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** Cookies, storage and cache of its own. */
export async function openContext(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: origin, viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(20_000);
  return context;
}

/** A person with a browser. `problems` holds script errors, refused loads and requests to other hosts. */
export class Person implements AsyncDisposable {
  readonly problems: string[] = [];
  readonly context: BrowserContext;
  readonly page: Page;
  readonly #origin: string;
  readonly #leave: () => Promise<void>;

  private constructor(page: Page, origin: string, leave: () => Promise<void>) {
    this.context = page.context();
    this.page = page;
    this.#origin = origin;
    this.#leave = leave;
    this.#watch(page);
  }

  /** With a browser of their own. */
  static async open(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Person> {
    const context = await openContext(browser, origin, options);
    return Person.before(context, origin, () => context.close());
  }

  /** With a browser that is open. */
  static async before(context: BrowserContext, origin: string, leave: () => Promise<void>): Promise<Person> {
    return new Person(await context.newPage(), origin, leave);
  }

  /** Signs in as the form of the page does, without drawing it. Returns the session's proof. */
  async signIn(name: string, path = "/approvals"): Promise<string> {
    const answer = await this.context.request.post("/v1/session", {
      data: { name, password },
      headers: { origin: this.#origin },
    });
    if (!answer.ok()) throw new Error(`The sign-in failed: ${answer.status()} ${await answer.text()}`);
    const { csrf }: { readonly csrf: string } = await answer.json();
    await this.#enter(csrf, path);
    return csrf;
  }

  /** Uses a session that began in this browser before. Returns false when it has ended. */
  async resume(csrf: string, path: string): Promise<boolean> {
    const headers = { "x-postern-csrf": csrf };
    const answer = await this.context.request.get("/v1/session", { headers, maxRetries: 2 }); // its connection may be older than a restart
    if (answer.ok()) await this.#enter(csrf, path);
    return answer.ok();
  }

  async #enter(csrf: string, path: string): Promise<void> {
    await this.page.goto("/postern.svg"); // any file of this origin: local storage belongs to an origin
    await this.page.evaluate(`localStorage.setItem("postern.proof", ${JSON.stringify(csrf)})`);
    await this.page.goto(path);
    await this.live();
  }

  /** Waits until the page receives events. */
  async live(page: Page = this.page): Promise<void> {
    await page.locator("[data-live=live]").waitFor();
  }

  async tab(path: string): Promise<Page> {
    const page = await this.context.newPage();
    this.#watch(page);
    await page.goto(path);
    return page;
  }

  #watch(page: Page): void {
    page.on("pageerror", (error) => this.problems.push(error.message));
    page.on("console", (message) => {
      // The browser itself reports every answer above 399; the tests check the expected ones.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        this.problems.push(message.text());
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(this.#origin))
        this.problems.push(`foreign request: ${request.url().slice(0, 200)}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave();
  }
}
