import type { Browser, BrowserContext, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { openBrowser, openContext, Person } from "./browser.ts";
import { everyRole, RuntimeFixture, type Ways } from "./console-fixture.ts";

interface Setting extends Ways {
  /** The accounts and their roles. */
  readonly people?: Readonly<Record<string, readonly string[]>>;
  /** Before it starts. */
  readonly prepare?: (postern: RuntimeFixture) => Promise<void>;
}

export interface TestSetup {
  readonly postern: RuntimeFixture;
  /** A new browser, not signed in. @param url of another Postern */
  readonly open: (options?: BrowserContextOptions, url?: string) => Promise<Person>;
  /**
   * A signed-in person with a live page; by default the first of the people. A browser that the person has used before
   * is used again, with its session and its cached files.
   */
  readonly at: (path: string, name?: string, options?: BrowserContextOptions) => Promise<Person>;
}

/** A test may prepare a hundred thousand records. */
const prepareMs = 240_000;

/** One Chromium for all the files that this process runs, one after the other. It ends with the process. */
let chromium: Promise<Browser> | undefined;

async function sharedChromium(): Promise<Browser> {
  chromium ??= openBrowser();
  const browser = await chromium;
  if (browser.isConnected()) return browser;
  chromium = openBrowser();
  return chromium;
}

/** A browser that a person has used and may use again. */
interface KnownBrowser {
  readonly owner: string;
  readonly context: Promise<BrowserContext>;
  csrf: string | undefined;
  isUsed: boolean;
}

/** One Postern for the tests of a file. */
export function setUp({ people = { grace: everyRole }, prepare, ...ways }: Setting = {}): TestSetup {
  const postern = new RuntimeFixture(ways);
  const browsers: KnownBrowser[] = [];
  beforeAll(async () => {
    await prepare?.(postern);
    await Promise.all([sharedChromium(), postern.start()]);
    await Promise.all(Object.entries(people).map(([name, roles]) => postern.account(name, roles)));
  }, prepareMs);
  afterAll(async () => {
    await Promise.all(browsers.map(async ({ context }) => (await context).close()));
    await postern[Symbol.asyncDispose]();
  });
  const open = async (options?: BrowserContextOptions, url = postern.url): Promise<Person> =>
    Person.open(await sharedChromium(), url, options);
  const take = (name: string, options: BrowserContextOptions): KnownBrowser => {
    const owner = JSON.stringify([name, options]);
    const free = browsers.find((known) => known.owner === owner && !known.isUsed);
    const context = (): Promise<BrowserContext> =>
      sharedChromium().then((one) => openContext(one, postern.url, options));
    const known: KnownBrowser = free ?? { owner, context: context(), csrf: undefined, isUsed: true };
    known.isUsed = true;
    if (free === undefined) browsers.push(known);
    return known;
  };
  const [first = ""] = Object.keys(people);
  const at = async (path: string, name = first, options: BrowserContextOptions = {}): Promise<Person> => {
    const known = take(name, options);
    const context = await known.context;
    const person = await Person.before(context, postern.url, async () => {
      await Promise.all(context.pages().map((page) => page.close()));
      known.isUsed = false;
    });
    if (known.csrf === undefined || !(await person.resume(known.csrf, path)))
      known.csrf = await person.signIn(name, path);
    return person;
  };
  return { postern, open, at };
}
