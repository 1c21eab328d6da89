import type { Clock } from "../core/clock.ts";
import { messageOf, RuntimeFault } from "../core/fault.ts";
import type { ChainEngine } from "../core/scripts.ts";
import { defaultEngines, type EngineSettings, knownEngines, placedEngine } from "../engines/known-engines.ts";
import type { SandboxDriver, ScriptProgram } from "../engines/sandbox.ts";
import type { ResolveSecret } from "../secrets/lend.ts";
import type { ChainOptions } from "./chain-options.ts";

type ScriptLanguage = ScriptProgram["language"];

/** An engine, loaded and asked whether it can run here when somebody needs to know: asking may start a process. */
class Engine {
  readonly name: string;
  readonly #load: () => Promise<SandboxDriver>;
  #asked: Promise<{ readonly driver?: SandboxDriver; readonly problem?: string }> | undefined;

  #isKnown = false;

  /** Why it last did not start; it is tried again all the same. */
  failure: string | undefined;

  constructor(name: string, load: () => Promise<SandboxDriver>) {
    this.name = name;
    this.#load = load;
  }

  ask(): Promise<{ readonly driver?: SandboxDriver; readonly problem?: string }> {
    this.#asked ??= this.#look();
    return this.#asked;
  }

  /** One that has not answered yet is closed when it does: nobody waits for that. */
  async close(): Promise<void> {
    const closed = this.#asked?.then(async ({ driver }) => {
      if (driver !== undefined && isDisposable(driver)) await driver[Symbol.asyncDispose]();
    });
    if (this.#isKnown) await closed;
    else closed?.catch(() => {}); // the house is gone by then
  }

  async #look(): Promise<{ readonly driver?: SandboxDriver; readonly problem?: string }> {
    try {
      const driver = await this.#load();
      const problem = await driver.unavailable();
      return problem === undefined ? { driver } : { driver, problem };
    } catch (error) {
      return { problem: messageOf(error) }; // an optional package that is not installed
    } finally {
      this.#isKnown = true;
    }
  }
}

/** The engines there are, in the order they are tried. One that cannot isolate is refused, never degraded. */
export class Engines implements AsyncDisposable {
  readonly #engines: readonly Engine[];
  /** Languages some engine speaks here; asked until each is found. */
  readonly languages: readonly ScriptLanguage[];

  private constructor(engines: readonly Engine[], languages: readonly ScriptLanguage[]) {
    this.#engines = engines;
    this.languages = languages;
  }

  /** @throws RuntimeFault `engine_unknown` for a name, `engine_unavailable` for one that was named and cannot run */
  static async open(options: ChainOptions, clock: Clock, resolve: ResolveSecret = noSecrets): Promise<Engines> {
    const { engines: names, drivers: own = [], engineSettings: settings = {}, memoryBytes } = options;
    const wanted = names ?? [...own.map(({ name }) => name), ...defaultEngines];
    const around = { own, clock, settings, resolve, memoryBytes };
    const engines = wanted.map((name) => new Engine(name, loaderOf(name, around)));
    if (names !== undefined)
      for (const engine of engines) {
        const { problem } = await engine.ask();
        if (problem !== undefined) throw unavailable(engine.name, problem);
      }
    return new Engines(engines, await spokenBy(engines));
  }

  async states(): Promise<readonly ChainEngine[]> {
    return Promise.all(
      this.#engines.map(async (engine) => {
        const { driver, problem } = await engine.ask();
        const told = { name: engine.name, language: driver?.capabilities.language };
        if (problem !== undefined || engine.failure === undefined) return { ...told, problem };
        return { ...told, problem: engine.failure, isDown: true };
      }),
    );
  }

  /** @param failure why it did not start for a script, which is shown until it has */
  tried({ name }: SandboxDriver, failure?: string): void {
    const engine = this.#engines.find((each) => each.name === name);
    if (engine !== undefined) engine.failure = failure && `it did not start for the last script: ${failure}`;
  }

  /**
   * For a language, in the order they are tried; none is asked before its turn.
   *
   * @param from the first one, where it is still among them: a frozen script was refused by those before it
   */
  async *for(language: ScriptLanguage, from?: string): AsyncGenerator<SandboxDriver> {
    const family = familyOf(language);
    const first = Math.max(
      0,
      this.#engines.findIndex(({ name }) => name === from),
    );
    for (const engine of this.#engines.slice(first)) {
      const { driver, problem } = await engine.ask();
      if (problem === undefined && driver?.capabilities.language === family) yield driver;
    }
  }

  /** The first of each language gets ready for a script that may come. */
  async warm(): Promise<void> {
    for (const language of this.languages.filter((each) => each !== "typescript"))
      for await (const driver of this.for(language)) {
        driver.warm?.();
        break;
      }
  }

  /** Why there is none for a language. */
  async problemFor(language: ScriptLanguage): Promise<string> {
    const family = familyOf(language);
    const states = (await this.states()).filter((state) => state.language === undefined || state.language === family);
    const why = states.map(({ name, problem = "is there" }) => `\`${name}\`: ${problem}`).join("; ");
    return `No engine here runs ${language}${why === "" ? "" : ` (${why})`}.`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#engines.map((engine) => engine.close()));
  }
}

async function spokenBy(engines: readonly Engine[]): Promise<readonly ScriptLanguage[]> {
  const spoken = new Set<string>();
  for (const engine of engines) {
    if (spoken.size === 2) break; // the rest is asked when it is needed
    const { driver, problem } = await engine.ask();
    if (problem === undefined && driver !== undefined) spoken.add(driver.capabilities.language);
  }
  return [
    ...(spoken.has("python") ? (["python"] as const) : []),
    ...(spoken.has("javascript") ? (["javascript", "typescript"] as const) : []),
  ];
}

function familyOf(language: ScriptLanguage): "javascript" | "python" {
  return language === "python" ? "python" : "javascript";
}

interface EngineContext {
  readonly own: readonly SandboxDriver[];
  readonly clock: Clock;
  readonly settings: EngineSettings;
  readonly resolve: ResolveSecret;
  readonly memoryBytes: number | undefined;
}

function loaderOf(
  name: string,
  { own, clock, settings, resolve, memoryBytes }: EngineContext,
): () => Promise<SandboxDriver> {
  const given = own.find((driver) => driver.name === name);
  if (given !== undefined) return async () => given;
  const known = knownEngines.get(name) ?? placedEngine(name, settings, resolve);
  if (known !== undefined) return () => known(clock, memoryBytes);
  const names = [...own.map((driver) => driver.name), ...knownEngines.keys(), "kubernetes", "firecracker"].join(", ");
  throw new RuntimeFault("engine_unknown", `\`${name}\` is no engine; there are ${names}.`);
}

function isDisposable(
  driver: SandboxDriver | (SandboxDriver & AsyncDisposable),
): driver is SandboxDriver & AsyncDisposable {
  return Symbol.asyncDispose in driver;
}

function noSecrets(connector: string, key: string): Promise<string> {
  throw new RuntimeFault("secret_unknown", `There are no secrets here to take \`secret://${connector}/${key}\` from.`);
}

function unavailable(name: string, problem: string): RuntimeFault {
  return new RuntimeFault(
    "engine_unavailable",
    `The engine \`${name}\` is configured and cannot run here: ${problem}. Install what it needs, or take it out of \`chains.engines\`.`,
  );
}
