import type { Page } from "playwright-core";
import type { BrowserAction, Chord, Point } from "./actions.ts";

/** The actions of pointer and keyboard. */
export type InputAction = Exclude<
  BrowserAction,
  { readonly do: "screenshot" | "text" | "cursor" | "zoom" | "wait" | "navigate" | "history" }
>;

/** Pointer and keyboard of one page. */
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

  async use(action: InputAction): Promise<void> {
    const { mouse, keyboard } = this.#page;
    if ("at" in action) await this.#moveTo(action.at);
    switch (action.do) {
      case "move":
        return;
      case "click": {
        const { button, count: clickCount, held } = action;
        return this.#holding(held, () => mouse.click(...this.#at, { button, clickCount }));
      }
      case "press":
        return mouse.down();
      case "release":
        return mouse.up();
      case "drag":
        return this.#holding(action.held, () => this.#drag(action.path));
      case "scroll":
        return this.#holding(action.held, () => mouse.wheel(...action.by));
      case "type":
        return keyboard.insertText(action.text);
      case "keys":
        for (let time = 0; time < action.times; time += 1)
          for (const chord of action.chords) await keyboard.press(chord.join("+"), { delay: action.holdMs });
        return;
    }
    action satisfies never;
  }

  async #drag(path: readonly Point[]): Promise<void> {
    await this.#moveTo(path[0]);
    await this.#page.mouse.down();
    for (const point of path.slice(1)) await this.#moveTo(point);
    await this.#page.mouse.up();
  }

  async #moveTo(at: Point | undefined): Promise<void> {
    if (at === undefined) return;
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
