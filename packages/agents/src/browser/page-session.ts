import { setTimeout as delay } from "node:timers/promises";
import type { CDPSession, Page } from "playwright-core";
import type { Point, Viewport } from "./actions.ts";
import { PageFrames } from "./frames.ts";

/** Reads a page over the DevTools protocol: whether it loads, the element at a place, a picture of it. */
export class PageSession {
  readonly page: Page;
  readonly frames: PageFrames;
  readonly #cdp: CDPSession;
  /** Set while the page loads. It settles when loading ends. */
  #loading: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  private constructor(cdp: CDPSession, page: Page, mainFrame: string) {
    this.page = page;
    this.frames = new PageFrames(page, cdp);
    this.#cdp = cdp;
    cdp.on("Page.frameStartedLoading", ({ frameId }) => {
      if (frameId === mainFrame) this.#loading ??= Promise.withResolvers();
    });
    cdp.on("Page.frameStoppedLoading", ({ frameId }) => {
      if (frameId === mainFrame) this.#endLoading();
    });
    page.on("crash", () => this.#end());
    page.on("close", () => this.#end());
  }

  /** For a new page. */
  static async open(page: Page): Promise<PageSession> {
    const cdp = await page.context().newCDPSession(page);
    const { frameTree } = await cdp.send("Page.getFrameTree");
    const session = new PageSession(cdp, page, frameTree.frame.id);
    await cdp.send("Page.enable");
    return session;
  }

  /** Waits until the page that the last action opened has loaded. Returns false when it still loads after `limitMs`. */
  async hasLoaded(limitMs: number): Promise<boolean> {
    return (await limited(this.#loaded(), limitMs)) ?? false;
  }

  /** Role and name of the element at a place, in the frame that lies there, read without the page's own scripts. */
  async describe(point: Point): Promise<string | undefined> {
    const hit = await this.frames.at(point);
    if (hit === undefined) return undefined;
    const { nodes } = await hit.session.send("Accessibility.getPartialAXTree", { backendNodeId: hit.backendNodeId });
    const [node] = nodes.filter(({ ignored, name }) => !ignored && name?.value !== "");
    return `${String(node?.role?.value ?? "element")} “${String(node?.name?.value ?? "").slice(0, 200)}”`;
  }

  /** A PNG in base64. The caller limits the time. */
  async capture(viewport: Viewport, region?: readonly [number, number, number, number]): Promise<string> {
    const [x, y, right, bottom] = region ?? [0, 0, viewport.width, viewport.height];
    const width = right - x;
    const clip = { x, y, width, height: bottom - y, scale: Math.min(4, viewport.width / width) };
    const picture = { format: "png", ...(region !== undefined && { clip }) } as const;
    for (;;) {
      try {
        return (await this.#cdp.send("Page.captureScreenshot", picture)).data;
      } catch (error) {
        // The page is not painted yet, or it is being replaced.
        const mayCome = /Unable to capture screenshot|Not attached to an active page/.test(String(error));
        if (this.#isClosed || !mayCome) throw error;
        await delay(50);
      }
    }
  }

  async #loaded(): Promise<boolean> {
    // The page answers after it has reported a navigation that the action began.
    await this.#cdp.send("Runtime.evaluate", { expression: "0" }).catch(() => undefined);
    await this.#loading?.promise;
    return true;
  }

  #end(): void {
    this.#isClosed = true;
    this.#endLoading();
  }

  #endLoading(): void {
    this.#loading?.resolve();
    this.#loading = undefined;
  }
}

/** Waits for work that cannot be stopped. Returns undefined when it takes longer than `limitMs`. */
export async function limited<T>(work: Promise<T>, limitMs: number): Promise<T | undefined> {
  const ended = new AbortController();
  const late = delay(limitMs, undefined, { signal: ended.signal }).catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    ended.abort();
    work.catch(() => undefined); // the result is no longer needed
  }
}
