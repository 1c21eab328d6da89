import type { Page } from "playwright-core";
import type { BrowserAction, Chord, Point } from "./actions.ts";
import type { Place } from "./frames-seen.ts";

/** The actions of pointer and keyboard. */
export type InputAction = Exclude<
  BrowserAction,
  { readonly do: "screenshot" | "text" | "cursor" | "zoom" | "wait" | "navigate" | "history" }
>;

/** Refuses, by throwing, when an event at this place would go to a frame that was not judged. */
type Check = (place: Place) => Promise<void>;

/**
 * Pointer and keyboard of one page. Each event is preceded by a check, because a page may move its frames or the focus in
 * answer to the event before it.
 */
export class InputDevices {
  readonly #page: Page;
  #at: Point = [0, 0];

  constructor(page: Page) {
    this.#page = page;
  }

  /** Where the pointer is. */
  get at(): Point {
    return this.#at;
  }

  async use(action: InputAction, check: Check): Promise<void> {
    const { mouse, keyboard } = this.#page;
    if ("at" in action) await this.#moveTo(action.at, check);
    switch (action.do) {
      case "move":
        return;
      case "click":
        return this.#holding(action.held, () => this.#click(action, check));
      case "press":
        await check(this.#at);
        return mouse.down();
      case "release":
        await check(this.#at);
        return mouse.up();
      case "drag":
        return this.#holding(action.held, () => this.#drag(action.path, check));
      case "scroll":
        await check(this.#at);
        return this.#holding(action.held, () => mouse.wheel(...action.by));
      case "type":
        await check("focus");
        return keyboard.insertText(action.text);
      case "keys":
        for (let time = 0; time < action.times; time += 1)
          for (const chord of action.chords) {
            await check("focus");
            await keyboard.press(chord.join("+"), { delay: action.holdMs });
          }
        return;
    }
    action satisfies never;
  }

  async #click({ button, count }: Extract<InputAction, { readonly do: "click" }>, check: Check): Promise<void> {
    for (let clickCount = 1; clickCount <= count; clickCount += 1) {
      await check(this.#at);
      await this.#page.mouse.down({ button, clickCount });
      await this.#release(this.#at, check, { button, clickCount });
    }
  }

  async #drag(path: readonly Point[], check: Check): Promise<void> {
    await this.#moveTo(path[0], check);
    await check(this.#at);
    await this.#page.mouse.down();
    for (const point of path.slice(1)) {
      await this.#page.mouse.move(...point);
      this.#at = point;
    }
    await this.#release(this.#at, check);
  }

  /** If the frame has changed meanwhile, the button is released outside of the page, where that ends no click. */
  async #release(at: Point, check: Check, options?: Parameters<Page["mouse"]["up"]>[0]): Promise<void> {
    const { mouse } = this.#page;
    try {
      await check(at);
    } catch (error) {
      await mouse.move(-1, -1);
      await mouse.up(options);
      throw error;
    }
    await mouse.up(options);
  }

  async #moveTo(at: Point | undefined, check: Check): Promise<void> {
    if (at === undefined) return;
    await check(at);
    await this.#page.mouse.move(...at);
    this.#at = at;
  }

  async #holding(keys: Chord, work: () => Promise<void>): Promise<void> {
    for (const key of keys) await this.#page.keyboard.down(key);
    try {
      await work();
    } finally {
      for (const key of keys.toReversed()) await this.#page.keyboard.up(key);
    }
  }
}
