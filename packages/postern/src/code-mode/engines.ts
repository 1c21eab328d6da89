import { type ChainEngine, type Clock, messageOf, RuntimeFault } from "@postern/core";
import type { SandboxDriver } from "@postern/core/sandbox";
import { defaultEngines, type EngineSettings, knownEngines, placedEngine, placedEngines } from "@postern/engines";
import type { ResolveSecret } from "../secrets/lend.ts";
import { withSecrets } from "../secrets/secret-reference.ts";
import type { ChainOptions } from "./chain-options.ts";
import type { ScriptLanguage } from "./source-text.ts";

interface EngineState {
  readonly driver?: SandboxDriver;
  readonly problem?: string;
}

/** An engine. It is loaded and checked on first use, because checking may start a process. */
class Engine {
  readonly name: string;
  readonly #load: () => Promise<SandboxDriver>;
  #state: Promise<EngineState> | undefined;
  /** Undefined until it has answered. */
  known: EngineState | undefined;
  /** Why it did not start for the last script. It is tried again anyway. */
  failure: string | undefined;

  constructor(name: string, load: () => Promise<SandboxDriver>) {
    this.name = name;
    this.#load = load;
  }

  ask(): Promise<EngineState> {
    this.#state ??= this.#ask().then((state) => {
      this.known = state;
      return state;
    });
    return this.#state;
  }

  /** Does not wait for an engine that has not answered yet; that one is closed when it does. */
  async close(): Promise<void> {
    const closed = this.#state?.then(async ({ driver }) => {
      if (driver !== undefined && isDisposable(driver)) await driver[Symbol.asyncDispose]();
    });
    if (this.known !== undefined) await closed;
    else closed?.catch(() => {}); // the runtime has closed by then
  }

  async #ask(): Promise<EngineState> {
    try {
      const driver = await this.#load();
      const problem = await driver.unavailable();
      return problem === undefined ? { driver } : { driver, problem };
    } catch (error) {
      return { problem: messageOf(error) }; // an optional package that is not installed
    }
  }
}

/** The engines, in the order they are tried. An engine that cannot isolate is refused. */
export class Engines implements AsyncDisposable {
  readonly #engines: readonly Engine[];
  /** The languages that the engines here run. Engines are asked until each language is found. */
  readonly languages: readonly ScriptLanguage[];

  readonly #options: ChainOptions;

  private constructor(engines: readonly Engine[], languages: readonly ScriptLanguage[], options: ChainOptions) {
    this.#engines = engines;
    this.languages = languages;
    this.#options = options;
  }

  /** @throws RuntimeFault `options_invalid` for a wrong name, `engine_unavailable` for a named engine that cannot run */
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
    return new Engines(engines, await spokenBy(engines), options);
  }

  async states(): Promise<readonly ChainEngine[]> {
    return Promise.all(
      this.#engines.map(async (engine) => {
        const { driver, problem } = await engine.ask();
        const state = { name: engine.name, language: driver?.capabilities.language };
        if (problem !== undefined || engine.failure === undefined) return { ...state, problem };
        return { ...state, problem: engine.failure, isDown: true };
      }),
    );
  }

  /** @param failure why the engine did not start for a script; shown until it starts */
  tried({ name }: SandboxDriver, failure?: string): void {
    const engine = this.#engines.find((each) => each.name === name);
    if (engine !== undefined) engine.failure = failure && `it did not start for the last script: ${failure}`;
  }

  /**
   * The engines for a language, in the order they are tried. Each is asked at its turn.
   *
   * @param from the engine that froze the script; those before it have refused the script
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

  /** Prepares the first engine of each language for the next script. */
  async warm(): Promise<void> {
    for (const language of this.languages.filter((each) => each !== "typescript"))
      for await (const driver of this.for(language)) {
        driver.warm?.();
        break;
      }
  }

  /**
   * Parts that the settings ask for and that do not run. JavaScript needs no installation, so without it the installation is broken;
   * Python is optional.
   */
  async warnings(): Promise<readonly string[]> {
    const { engines: names, drivers = [], engineSettings = {} } = this.#options;
    const unnamed = (name: string): boolean => !this.#engines.some((engine) => engine.name === name);
    const warnings = [
      ...drivers.map(({ name }) => [name, "chains.drivers"] as const),
      ...Object.keys(engineSettings).map((name) => [name, `chains.engineSettings.${name}`] as const),
    ]
      .filter(([name]) => unnamed(name))
      .map(
        ([name, option]) => `\`${option}\` is given, and \`${name}\` runs no script: name it in \`chains.engines\`.`,
      );
    for (const { name, known } of this.#engines) // those that nothing has asked yet are asked at their turn
      if (known?.problem !== undefined && drivers.some((driver) => driver.name === name))
        warnings.push(`The engine \`${name}\` cannot run here: ${known.problem}.`);
    if (names !== undefined || this.languages.includes("javascript")) return warnings;
    const offered = this.languages.length === 0 ? " `tool_chain` is not offered." : "";
    const why = await this.problemFor("javascript");
    const cure = "Install `postern` with its dependencies again; a bundle must leave `postern` outside (external).";
    return [...warnings, `Code mode was asked for.${offered} ${why} ${cure}`];
  }

  /** Says why no engine runs a language. */
  async problemFor(language: ScriptLanguage): Promise<string> {
    const family = familyOf(language);
    const states = (await this.states()).filter(({ language: own }) => own === undefined || own === family);
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
    if (spoken.size === 2) break; // the other engines are asked when they are needed
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
  const known = knownEngines.get(name) ?? placedEngine(name, settings, (text) => withSecrets(text, resolve));
  if (known !== undefined) return () => known(clock, memoryBytes);
  const names = [...own.map((driver) => driver.name), ...knownEngines.keys(), ...placedEngines].join(", ");
  throw new RuntimeFault("options_invalid", `\`${name}\` is not an engine; there are ${names}.`);
}

function isDisposable(
  driver: SandboxDriver | (SandboxDriver & AsyncDisposable),
): driver is SandboxDriver & AsyncDisposable {
  return Symbol.asyncDispose in driver;
}

function noSecrets(connector: string, key: string): Promise<string> {
  throw new RuntimeFault("secret_missing", `There are no secrets here to take \`secret://${connector}/${key}\` from.`);
}

function unavailable(name: string, problem: string): RuntimeFault {
  return new RuntimeFault(
    "engine_unavailable",
    `The engine \`${name}\` is configured and cannot run here: ${problem}. Install what it needs, or take it out of \`chains.engines\`.`,
  );
}
