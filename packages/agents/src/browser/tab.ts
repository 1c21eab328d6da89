import { messageOf } from "@postern/core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { BrowserAction, Viewport } from "./actions.ts";
import { Egress, type EgressOptions, urlProblem } from "./egress.ts";
import { webOrigin } from "./frames.ts";
import { type FramesSeen, noPage, type Place, placesIn } from "./frames-seen.ts";
import { InputDevices } from "./input-devices.ts";
import { writes } from "./judge.ts";
import { limited, PageSession } from "./page-session.ts";

export interface TabOptions extends EgressOptions {
  readonly viewport: Viewport;
  /** How long a page may take to answer one action. */
  readonly actionTimeoutMs: number;
  readonly navigationTimeoutMs: number;
}

/** The result of one action. */
export interface ActionResult {
  readonly image?: string;
  readonly text?: string;
}

/** An action that failed. Its message has the reason and the next step. */
export class ActionFailed extends Error {
  override readonly name = "ActionFailed";
}

const changedText = "The page or the frame that would receive this is another one now than when this call was judged";
const secretText = "The field for typing is one for a password or a card. Send the typing again as a separate call.";
const unclearText = "It is not clear which frame the call acts in. Take a screenshot and decide again.";
/** A look delays the call, and calls of other runs too. */
const mostLookMs = 5_000;
const mostSeen = 50;
const mostTextLength = 50_000;

/** One context of Chromium with one page, behind its own proxy. It belongs to one run. */
export class Tab implements AsyncDisposable {
  readonly #context: BrowserContext;
  readonly #egress: Egress;
  readonly #options: TabOptions;
  readonly #notes: string[] = [];
  #page: Page;
  #session: PageSession;
  /** The page can no longer be used: it crashed, or it did not answer. */
  #lost: string | undefined;
  /** By their actions: what the latest calls would act in. The oldest are removed first. */
  readonly #seen = new Map<string, FramesSeen>();
  /** The page did not answer the last look in time. */
  #isSilent = false;
  #input: InputDevices;
  #last: Promise<unknown> = Promise.resolve();
  /** Set while a page of ours opens, so that it is not taken for a popup. */
  #opening: Promise<unknown> = Promise.resolve();
  readonly #old = new WeakSet<Page>();

  private constructor(context: BrowserContext, session: PageSession, egress: Egress, options: TabOptions) {
    this.#context = context;
    this.#page = session.page;
    this.#session = session;
    this.#input = new InputDevices(session.page);
    this.#egress = egress;
    this.#options = options;
    context.on("page", (other) => this.#closePopup(other));
    this.#watch(session.page);
  }

  static async open(browser: Browser, options: TabOptions): Promise<Tab> {
    const egress = await Egress.open(options);
    try {
      const context = await browser.newContext({
        ...{ viewport: { ...options.viewport }, deviceScaleFactor: 1, acceptDownloads: false, serviceWorkers: "block" },
        // Without `bypass`, an environment variable of Playwright sends loopback addresses past the proxy.
        ...{ proxy: { server: egress.url, bypass: "<-loopback>" }, permissions: [] },
      });
      context.setDefaultTimeout(options.actionTimeoutMs);
      return new Tab(context, await PageSession.open(await context.newPage()), egress, options);
    } catch (error) {
      await egress[Symbol.asyncDispose]();
      throw error;
    }
  }

  get url(): string {
    return this.#page.url();
  }

  /** Reads which frames a call would act in. The verdict uses the answer without waiting. */
  async look(actions: readonly BrowserAction[]): Promise<void> {
    const key = keyOf(actions);
    const seen = await this.#readFrames(actions);
    this.#seen.delete(key);
    this.#seen.set(key, seen);
    for (const [oldest] of this.#seen) if (this.#seen.size > mostSeen) this.#seen.delete(oldest);
  }

  /** From the latest look at these actions. */
  seenFor(actions: readonly BrowserAction[]): FramesSeen {
    const seen = this.#seen.get(keyOf(actions));
    return seen ?? { page: undefined, target: undefined, secretFocus: false, refusal: unclearText };
  }

  /** Runs one call at a time, so that two callers of one run do not move the pointer at once. */
  oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /**
   * Does an action if it acts where its call was judged. The frames are read again right before each event.
   *
   * @throws ActionFailed
   */
  async run(action: BrowserAction, judged: FramesSeen): Promise<ActionResult> {
    this.#isSilent = false;
    if (this.#lost !== undefined) {
      if (action.do !== "navigate") throw new ActionFailed(`${this.#lost} Navigate to go on.`);
      await this.#replace();
    }
    if (action.do !== "navigate") await this.#leaveForeign();
    try {
      const done = await this.#bounded(this.#carryOut(action, judged), this.#limitOf(action));
      if (action.do !== "screenshot" && action.do !== "cursor") await this.#settle();
      return done;
    } catch (error) {
      if (error instanceof ActionFailed) throw error;
      if (/crash|has been closed/i.test(messageOf(error))) this.#lost ??= "The page crashed.";
      if (this.#lost !== undefined) throw new ActionFailed(`${this.#lost} Navigate to go on.`);
      throw new ActionFailed(`The page did not take \`${action.do}\`: ${firstLine(error)}.`);
    }
  }

  async screenshot(): Promise<string> {
    const { image = "" } = await this.run({ do: "screenshot" }, noPage);
    return image;
  }

  /** Events beside the actions, since the last call. */
  takeNotes(): readonly string[] {
    const refused = this.#egress.takeRefused().map((why) => `A request was refused: ${why}.`);
    return [...this.#notes.splice(0), ...refused];
  }

  /** The element where an action acts, for a person. It is read without the page's own scripts. */
  async describe(at: readonly [number, number] | undefined): Promise<string | undefined> {
    if (this.#lost !== undefined) return undefined;
    const [x, y] = at ?? this.#input.at;
    const described = this.#session.describe([x, y]);
    return this.#bounded(described, this.#options.actionTimeoutMs).catch(() => undefined); // nothing is there, or nothing answers
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close().catch(() => undefined); // a browser that has ended has closed it
    await this.#egress[Symbol.asyncDispose]();
  }

  async #readFrames(actions: readonly BrowserAction[]): Promise<FramesSeen> {
    const page = webOrigin(this.#page.url());
    const places = placesIn(actions, this.#input.at);
    const ofPage = { page, target: page, secretFocus: false };
    if (places.length === 0) return ofPage;
    if (this.#lost !== undefined) return { ...ofPage, refusal: `${this.#lost} Navigate to go on.` };
    if (this.#isSilent) return { ...ofPage, refusal: unclearText };
    const late = Math.min(this.#options.actionTimeoutMs, mostLookMs);
    const seen = await limited(this.#readPlaces(actions, places), late).catch(() => "failed" as const);
    this.#isSilent = seen === undefined;
    return seen === undefined || seen === "failed" ? { ...ofPage, refusal: unclearText } : seen;
  }

  async #readPlaces(actions: readonly BrowserAction[], places: readonly Place[]): Promise<FramesSeen> {
    const { frames } = this.#session;
    const page = await frames.origin();
    const focus = actions.some(writes) || places.includes("focus") ? await frames.focus() : undefined;
    const found = await Promise.all(places.map((place) => (place === "focus" ? focus : frames.at(place))));
    const concernsPage = actions.some((action) => action.do === "history");
    const origins = new Set([...found.map((frame) => frame?.origin), ...(concernsPage ? [page] : [])]);
    const [target] = origins;
    const seen = { page, target, secretFocus: focus?.isSecret ?? false };
    if (found.includes(undefined)) return { ...seen, refusal: unclearText };
    if (origins.size === 1) return seen;
    const named = [...origins].map((origin) => origin ?? "no address").join(" and ");
    const refusal = `The call acts in frames of ${named}, and a call may act in one origin. Send its actions as separate calls.`;
    return { ...seen, target: undefined, refusal };
  }

  /** @throws ActionFailed when an event would go to another frame than the one that was judged */
  async #check(place: Place, action: BrowserAction, judged: FramesSeen): Promise<void> {
    const { frames } = this.#session;
    const [page, focus, hit] = await Promise.all([
      frames.origin(),
      place === "focus" ? frames.focus() : undefined,
      place === "focus" ? undefined : frames.at(place).catch(() => undefined), // nothing is there
    ]);
    const found = focus ?? hit;
    if (focus?.isSecret === true && !judged.secretFocus && writes(action)) throw new ActionFailed(secretText);
    if (page === judged.page && found !== undefined && found.origin === judged.target) return;
    const where = found === undefined ? "" : ` (${found.origin ?? "none"} in ${page ?? "none"})`;
    throw new ActionFailed(`${changedText}${where}. Take a screenshot and decide again.`);
  }

  async #carryOut(action: BrowserAction, judged: FramesSeen): Promise<ActionResult> {
    switch (action.do) {
      case "screenshot":
        return { image: await this.#session.capture(this.#options.viewport) };
      case "zoom":
        return { image: await this.#session.capture(this.#options.viewport, action.region) };
      case "cursor":
        return { text: `x=${this.#input.at[0]}, y=${this.#input.at[1]}` };
      case "text":
        return { text: (await this.#page.locator("body").innerText()).slice(0, mostTextLength) };
      case "wait":
        await this.#page.waitForTimeout(action.ms);
        return {};
      case "navigate":
        await this.#navigate(action.url);
        return {};
      case "history": {
        if ((await this.#session.frames.origin()) !== judged.page) throw new ActionFailed(`${changedText}.`);
        const waiting = { waitUntil: "commit", timeout: this.#options.navigationTimeoutMs } as const;
        if (action.to === "back") await this.#page.goBack(waiting);
        else if (action.to === "forward") await this.#page.goForward(waiting);
        else await this.#page.reload(waiting);
        return {};
      }
    }
    await this.#input.use(action, (place) => this.#check(place, action, judged));
    return {};
  }

  async #navigate(url: string): Promise<void> {
    const problem = urlProblem(url, this.#options);
    if (problem !== undefined) throw new ActionFailed(`Navigation is refused: ${problem}.`);
    try {
      await this.#page.goto(url, { waitUntil: "commit", timeout: this.#options.navigationTimeoutMs });
    } catch (error) {
      if (/Download is starting|ERR_ABORTED/.test(messageOf(error)))
        throw new ActionFailed(`\`${url}\` is a download; downloads are refused.`);
      await this.#replace(); // the browser's own error page would still come, and replace the next page
      const why = this.#egress.takeRefused().join("; ");
      throw new ActionFailed(`The page did not open: ${why === "" ? firstLine(error) : why}.`);
    }
  }

  /** Waits until the page has loaded or its time is over, then reads its state again. */
  async #settle(): Promise<void> {
    const { actionTimeoutMs: timeout } = this.#options;
    const isLoaded = await this.#session.hasLoaded(Math.min(timeout, 3_000));
    if (!isLoaded && this.#lost === undefined) this.#notes.push("The page is still loading.");
    await this.#leaveForeign();
    if (this.#lost !== undefined) throw new ActionFailed(`${this.#lost} Navigate to go on.`);
  }

  /** A page that was refused is neither shown nor used. */
  async #leaveForeign(): Promise<void> {
    const url = this.#page.url();
    const isError = url.startsWith("chrome-error:");
    if (url === "about:blank" || (!isError && urlProblem(url, this.#options) === undefined)) return;
    const refused = this.#egress.takeRefused().join("; ");
    await this.#replace();
    const why = isError ? refused || "it could not be reached" : urlProblem(url, this.#options);
    throw new ActionFailed(`The page opened an address that is not allowed, and is closed: ${why}.`);
  }

  /** Playwright limits most waits, but not those for a hung renderer. */
  async #bounded<T>(work: Promise<T>, limitMs: number): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        this.#lost ??= `The page did not answer within ${limitMs} ms.`;
        reject(new ActionFailed(`${this.#lost} Navigate to go on.`));
      }, limitMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      work.catch(() => undefined); // the result is no longer needed
    }
  }

  #limitOf(action: BrowserAction): number {
    const { actionTimeoutMs, navigationTimeoutMs } = this.#options;
    if (action.do === "wait") return action.ms + actionTimeoutMs;
    if (action.do === "keys") return action.times * action.holdMs + actionTimeoutMs;
    return action.do === "navigate" || action.do === "history"
      ? navigationTimeoutMs + actionTimeoutMs
      : actionTimeoutMs;
  }

  /** Closes the old page without waiting, because a page that hangs would delay the next call. */
  async #replace(): Promise<void> {
    const old = this.#page;
    this.#old.add(old);
    const opening = this.#context.newPage().then((opened) => {
      this.#page = opened;
      return opened;
    });
    this.#opening = opening.catch(() => undefined);
    const page = await opening;
    this.#session = await PageSession.open(page);
    this.#input = new InputDevices(page);
    this.#lost = undefined;
    this.#watch(page);
    void old.close().catch(() => undefined);
  }

  #watch(page: Page): void {
    page.on("crash", () => {
      if (page === this.#page) this.#lost = "The page crashed.";
    });
    page.on("dialog", (dialog) => {
      const leaves = dialog.type() === "beforeunload";
      if (!leaves) this.#note(`The page showed a dialog, which was dismissed: “${dialog.message().slice(0, 200)}”.`);
      void (leaves ? dialog.accept() : dialog.dismiss()).catch(() => undefined); // its page may have closed
    });
    page.on("download", (download) => {
      this.#note(`A download was refused: ${download.url().slice(0, 200)}.`);
      void download.cancel().catch(() => undefined);
    });
  }

  /** Closes a page that is not ours when ours is open. It may have removed its opener, so that is not checked. */
  #closePopup(page: Page): void {
    void this.#opening.then(async () => {
      if (page === this.#page || this.#old.has(page)) return;
      const url = page.url();
      await page.close().catch(() => undefined); // it may have closed itself
      this.#note(`The page opened a window, which was closed: ${url.slice(0, 200)}. Navigate there if you need it.`);
    });
  }

  #note(text: string): void {
    if (this.#notes.length < 20) this.#notes.push(text);
  }
}

/** Without the text that is typed: it changes no place, and may be a secret. */
function keyOf(actions: readonly BrowserAction[]): string {
  return JSON.stringify(actions, (name, value) => (name === "text" ? undefined : value));
}

function firstLine(error: unknown): string {
  return (messageOf(error).split("\n", 1)[0] ?? "").slice(0, 300);
}
