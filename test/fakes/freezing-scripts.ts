/** Generates scripts that are cut short, thawed and moved, some of which differ from run to run, and runs them. */
import fc from "fast-check";
import type { SandboxDriver, SandboxSession } from "../../packages/core/src/sandbox/sandbox.ts";
import type { defineTool, ToolContext } from "../../packages/postern/src/index.ts";
import { asker, boss, runtimeFixture } from "./runtime-fixture.ts";
import { resultOf } from "./script-fixture.ts";

/** How a step differs from run to run, as no script should and some do. */
type Variation = "never" | "left out later" | "only later" | "other words";

/** A `refused` call leaves nothing in the ledger. The first call of `again` fails, and the script calls again. */
interface ScriptStep {
  readonly kind: "work" | "post" | "host" | "refused" | "again" | "together";
  readonly variation: Variation;
}

/** One interruption: the caller leaves before or after an effect, or the engine fails after `at` steps. */
interface Cut {
  readonly by: "caller before" | "caller after" | "engine";
  readonly at: number;
}

export interface Story {
  readonly steps: readonly ScriptStep[];
  /** The interruption of each run. */
  readonly cuts: readonly (Cut | undefined)[];
  /** The decisions in order; all later ones approve. */
  readonly answers: readonly boolean[];
  /** Whether each run has another build of its engine, and is replayed instead of thawed. */
  readonly isRebuilt: boolean;
}

const kinds = fc.constantFrom<ScriptStep["kind"]>("work", "post", "host", "refused", "again", "together");
const always = fc.constant<Variation>("never");
const variations = fc.constantFrom<Variation>("never", "never", "left out later", "only later", "other words");
const engineCuts = fc.constant<Cut["by"]>("engine");
const cutters = fc.constantFrom<Cut["by"]>("caller before", "caller after", "engine");

/** @param isSteady the script is the same in each run and its caller stays, so it comes to its end */
export function stories(isSteady: boolean): fc.Arbitrary<Story> {
  const step = fc.record({ kind: kinds, variation: isSteady ? always : variations });
  const cut = fc.record({ by: isSteady ? engineCuts : cutters, at: fc.integer({ min: 0, max: 4 }) });
  return fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 7 }),
    cuts: fc.array(fc.option(cut, { nil: undefined }), { maxLength: 4 }),
    answers: fc.array(fc.boolean(), { maxLength: 3 }),
    isRebuilt: fc.boolean(),
  });
}

/** An engine and the function that writes a story as its source. `LIFE` in it is the number of earlier runs. */
export interface ScriptLanguage {
  readonly driver: SandboxDriver;
  readonly language: "javascript" | "python";
  sourceOf(steps: Story["steps"]): string;
}

/** @param call returns a call expression that gives a promise; `given` is an expression */
export function inJavaScript(call: (tool: string, given: string) => string, host: string): ScriptLanguage["sourceOf"] {
  return (steps) => {
    const lines = steps.map(({ kind, variation }, at) => {
      const words = variation === "other words" ? ' + "." + LIFE' : "";
      const asked = (tool: string, to: string): string => call(tool, `"${to}"${words}`);
      const told = (made: string): string =>
        `${made}.then((one) => out.push(one?.text ?? "told"), (error) => out.push(error.code))`;
      const line: Readonly<Record<ScriptStep["kind"], string>> = {
        host: `await ${host};`,
        refused: `await ${told(call("work", "5"))};`,
        work: `await ${told(asked("work", `${at}`))};`,
        post: `await ${told(asked("post", `${at}`))};`,
        again: `try { await ${asked("shaky", `${at}`)}; } catch { await ${told(asked("shaky", `${at}`))}; }`,
        together: `await Promise.all([${[asked("work", `${at}a`), host, asked("post", `${at}b`)].map(told).join(", ")}]);`,
      };
      if (variation === "left out later") return `if (LIFE === 0) { ${line[kind]} }`;
      return variation === "only later" ? `if (LIFE > 0) { ${line[kind]} }` : line[kind];
    });
    return ["const out = [];", ...lines, "return out.join();"].join("\n");
  };
}

export function inPython(steps: Story["steps"]): string {
  const lines = steps.flatMap(({ kind, variation }, at) => {
    const words = variation === "other words" ? ".LIFE" : "";
    const asked = (tool: string, to: string): string => `tools.${tool}(to="${to}${words}")`;
    const tried = (made: string, ...otherwise: readonly string[]): readonly string[] => [
      ...["try:", `    out.append(${made}.text)`],
      ...[
        "except Exception as error:",
        ...(otherwise.length === 0 ? ["out.append(str(error))"] : otherwise).map(inner),
      ],
    ];
    const line: Readonly<Record<ScriptStep["kind"], readonly string[]>> = {
      host: ['progress("on the way")'],
      refused: tried("tools.work(to=5)"),
      work: tried(asked("work", `${at}`)),
      post: tried(asked("post", `${at}`)),
      again: tried(asked("shaky", `${at}`), ...tried(asked("shaky", `${at}`))),
      together: [
        ...["try:", `    await asyncio.gather(${asked("work", `${at}a`)}, ${asked("post", `${at}b`)})`],
        ...["except Exception as error:", "    out.append(str(error))"],
      ],
    };
    if (variation === "left out later") return ["if LIFE == 0:", ...line[kind].map(inner)];
    return variation === "only later" ? ["if LIFE > 0:", ...line[kind].map(inner)] : line[kind];
  });
  return ["import asyncio", "out = []", ...lines, '",".join(out)'].join("\n");
}

function inner(line: string): string {
  return `    ${line}`;
}

export interface StoryResult {
  /** The effects, without their variations. */
  readonly effects: readonly string[];
  readonly lives: number;
  readonly output: string | undefined;
  readonly errorKind: string | undefined;
}

class StoryState {
  readonly effects: string[] = [];
  readonly #cuts: (Cut | undefined)[];
  readonly #failedOnce = new Set<string>();
  lives = 0;
  cut: Cut | undefined;
  leaving = new AbortController();
  #had = 0;

  constructor(cuts: Story["cuts"]) {
    this.#cuts = [...cuts];
  }

  begin(): number {
    this.#had = 0;
    this.cut = this.#cuts.shift();
    this.lives += 1;
    return this.lives - 1;
  }

  fails(to: string): boolean {
    const isFirst = !this.#failedOnce.has(to);
    this.#failedOnce.add(to);
    return isFirst;
  }

  async effect(to: string, { signal }: ToolContext): Promise<string> {
    const isCut = this.cut !== undefined && this.cut.by !== "engine" && this.cut.at === this.#had;
    this.#had += 1;
    if (!isCut || this.cut?.by === "caller after") this.effects.push(to);
    if (!isCut) return `did ${to}`;
    const left = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    this.leaving.abort();
    await left;
    throw new Error("the caller has left");
  }
}

function toolsOf(life: StoryState): readonly Parameters<typeof defineTool>[0][] {
  const tool = {
    description: "Has an effect.",
    risk: "medium",
    effects: "write",
    idempotent: false,
    input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    execute: (given: unknown, context: ToolContext) => life.effect((given as { readonly to: string }).to, context), // the schema says so
  } as const;
  const shaky: typeof tool.execute = async (given, context) => {
    if (life.fails((given as { readonly to: string }).to))
      throw Object.assign(new Error("not now"), { retryable: true });
    return tool.execute(given, context);
  };
  return [
    { ...tool, name: "work" },
    { ...tool, name: "post", risk: "high" },
    { ...tool, name: "shaky", execute: shaky },
  ];
}

function changingDriver(
  life: StoryState,
  driver: SandboxDriver,
  about: { readonly name: string; readonly build: () => string },
): SandboxDriver {
  return {
    name: about.name,
    capabilities: driver.capabilities,
    get engine() {
      return about.build();
    },
    unavailable: () => driver.unavailable(),
    start: async (program, limits) => {
      const source = program.source.replaceAll("LIFE", `${life.begin()}`);
      return failingSession(await driver.start({ ...program, source }, limits), life);
    },
    restore: async (...given) => {
      life.begin();
      return failingSession(await driver.restore(...given), life);
    },
  };
}

function failingSession(session: SandboxSession, { cut }: StoryState): SandboxSession {
  let steps = 0;
  return {
    next: async (passedMs) =>
      cut?.by === "engine" && cut.at === steps++
        ? { step: "failed", why: "unsupported", message: "not that" }
        : session.next(passedMs),
    settle: (results) => session.settle(results),
    freeze: () => session.freeze(),
    kill: () => session.kill(),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

export async function runStory(
  { steps, cuts, answers, isRebuilt }: Story,
  spoken: ScriptLanguage,
): Promise<StoryResult> {
  const life = new StoryState(cuts);
  let turn = 0;
  const build = (): string => (isRebuilt ? `build ${turn}` : "build");
  const engines = ["first", "second", "third", "fourth", "fifth"];
  const drivers = engines.map((name) => changingDriver(life, spoken.driver, { name, build }));
  const chains = { drivers, engines, limits: { maxRiskUnapproved: "medium" } } as const;
  await using h = await runtimeFixture({ chains }, toolsOf(life));
  const script = { code: spoken.sourceOf(steps), language: spoken.language };
  for (const decisions = [...answers]; turn < 40; turn += 1) {
    life.leaving = new AbortController();
    const context = { ...asker, idempotencyKey: "script", signal: life.leaving.signal };
    const outcome = await h.runtime.runChain(script, context).catch(() => undefined);
    if (outcome?.status === "pending") {
      const decision = (decisions.shift() ?? true) ? "approved" : "denied";
      await h.runtime.approvals.decide(outcome.approvalId, { decision, by: boss });
    } else if (outcome !== undefined) {
      const { status, output_text: output, error_kind: errorKind } = resultOf(outcome);
      const isOk = status === "ok";
      const effects = life.effects.map((to) => to.split(".")[0] ?? "");
      return {
        effects,
        lives: life.lives,
        output: isOk ? String(output) : undefined,
        errorKind: isOk ? undefined : String(errorKind),
      };
    }
  }
  throw new Error("The script does not end.");
}
