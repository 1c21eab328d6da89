import type { Browser, BrowserContext, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { openBrowser, openContext, Person } from "./browser.ts";
import { everyRole, RuntimeFixture, type Ways } from "./console-fixture.ts";

interface Setting extends Ways {
  /** Who has an account, with which roles. */
  readonly people?: Readonly<Record<string, readonly string[]>>;
  /** Before it starts. */
  readonly prepare?: (house: RuntimeFixture) => Promise<void>;
}

export interface Stage {
  readonly house: RuntimeFixture;
  /** A browser of somebody's own; nobody is signed in. Of another house: by its address. */
  readonly open: (options?: BrowserContextOptions, url?: string) => Promise<Person>;
  /**
   * Somebody signed in, with a page open that is live; the first of the people where nobody is named. They sit down where
   * they sat before, as people do: at a browser that knows them and has the page's files.
   */
  readonly at: (path: string, name?: string, options?: BrowserContextOptions) => Promise<Person>;
}

/** What is prepared may be a hundred thousand things. */
const prepareMs = 240_000;

/** One Chromium for all the files that this process runs, one after the other. It ends with the process. */
let chromium: Promise<Browser> | undefined;

async function theBrowser(): Promise<Browser> {
  chromium ??= openBrowser();
  const browser = await chromium;
  if (browser.isConnected()) return browser;
  chromium = openBrowser();
  return chromium;
}

/** A browser that somebody has used, for when they come again. */
interface Seat {
  readonly whose: string;
  readonly context: Promise<BrowserContext>;
  csrf: string | undefined;
  isTaken: boolean;
}

/** One Postern for the tests of a file: there before the first of them, gone after the last. */
export function stage({ people = { grace: everyRole }, prepare, ...ways }: Setting = {}): Stage {
  const house = new RuntimeFixture(ways);
  const seats: Seat[] = [];
  beforeAll(async () => {
    await prepare?.(house);
    await Promise.all([theBrowser(), house.start()]);
    await Promise.all(Object.entries(people).map(([name, roles]) => house.account(name, roles)));
  }, prepareMs);
  afterAll(async () => {
    await Promise.all(seats.map(async ({ context }) => (await context).close()));
    await house[Symbol.asyncDispose]();
  });
  const open = async (options?: BrowserContextOptions, url = house.url): Promise<Person> =>
    Person.open(await theBrowser(), url, options);
  const take = (name: string, options: BrowserContextOptions): Seat => {
    const whose = JSON.stringify([name, options]);
    const free = seats.find((seat) => seat.whose === whose && !seat.isTaken);
    const context = (): Promise<BrowserContext> => theBrowser().then((one) => openContext(one, house.url, options));
    const seat: Seat = free ?? { whose, context: context(), csrf: undefined, isTaken: true };
    seat.isTaken = true;
    if (free === undefined) seats.push(seat);
    return seat;
  };
  const [first = ""] = Object.keys(people);
  const at = async (path: string, name = first, options: BrowserContextOptions = {}): Promise<Person> => {
    const seat = take(name, options);
    const context = await seat.context;
    const person = await Person.before(context, house.url, async () => {
      await Promise.all(context.pages().map((page) => page.close()));
      seat.isTaken = false;
    });
    if (seat.csrf === undefined || !(await person.goOn(seat.csrf, path))) seat.csrf = await person.signIn(name, path);
    return person;
  };
  return { house, open, at };
}
