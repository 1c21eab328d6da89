import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { openBrowser, Person } from "./browser.ts";
import { everyRole, House } from "./house.ts";

interface Setting {
  /** Who has an account, with which roles. */
  readonly people?: Readonly<Record<string, readonly string[]>>;
  /** Lines at the end of the configuration. */
  readonly more?: string;
  /** Lines within `approvals`. */
  readonly approvals?: string;
  /** Before it starts. */
  readonly prepare?: (house: House) => Promise<void>;
}

export interface Stage {
  readonly house: House;
  /** A browser of somebody's own; nobody is signed in. Of another house: by its address. */
  readonly open: (options?: BrowserContextOptions, url?: string) => Promise<Person>;
  /** Somebody signed in, with a page open that is live; the first of the people where nobody is named. */
  readonly at: (path: string, name?: string, options?: BrowserContextOptions) => Promise<Person>;
}

/** What is prepared may be a hundred thousand things. */
const prepareMs = 240_000;

/** One Postern and one Chromium for the tests of a file: there before the first of them, gone after the last. */
export function stage({ people = { grace: everyRole }, more, approvals, prepare }: Setting = {}): Stage {
  const house = new House(more, approvals);
  let browser: Browser | undefined;
  beforeAll(async () => {
    await prepare?.(house);
    [browser] = await Promise.all([openBrowser(), house.start()]);
    for (const [name, roles] of Object.entries(people)) await house.account(name, roles);
  }, prepareMs);
  afterAll(async () => {
    await browser?.close();
    await house[Symbol.asyncDispose]();
  });
  const open = (options?: BrowserContextOptions, url = house.url): Promise<Person> => {
    if (browser === undefined) throw new Error("The stage is not set before the first test.");
    return Person.open(browser, url, options);
  };
  const [first = ""] = Object.keys(people);
  const at = async (path: string, name = first, options?: BrowserContextOptions): Promise<Person> => {
    const person = await open(options);
    await person.signIn(name, path);
    return person;
  };
  return { house, open, at };
}
