/**
 * Scripts read before they run, by Monty's type checker and parser, in processes that run none.
 *
 * Why apart from where scripts run: what the checker learns of Python's library costs it more than most scripts do, and here
 * it may keep that. Of a script only its text comes here. Even so a process reads for one owner alone, and whatever goes
 * wrong ends it: a finding too, because Monty puts all it has learned away with a finding.
 */
import { hash } from "node:crypto";
import type { Clock } from "../../../../calls/clock.ts";
import type { JsonObject } from "../../../../calls/json.ts";
import { onceFor } from "../../../once-for.ts";
import type { Program } from "../../../sandbox.ts";
import { placeOf } from "../../../signatures.ts";
import type { ChildSpec } from "../../child/child-process.ts";
import { allButOne, ChildPool } from "../../child/pool.ts";
import { CpuMeter, watchTurn } from "../../child/watch.ts";
import { rewritten } from "../monty/monty-rewrite.ts";
import { toolNames } from "../tool-names.ts";
import { judge } from "./monty-check.ts";
import { scanForMonty } from "./monty-scan.ts";
import { pythonStubs } from "./stubs.ts";

export type Verdict = { readonly unsupported: string } | { readonly invalid: string } | undefined;

/** Of a script that Monty takes. */
export const longestScriptBytes: number = 64 * 1024;
/** Of reading one script; ordinary ones of the longest take a tenth of it. */
const limits = { cpuMs: 2_000, wallMs: 10_000, memoryBytes: 512 * 1024 * 1024 };
const most = 4;
/** What it keeps grows by kilobytes a script. */
const scriptsEach = 500;
const mostRemembered = 500;

export class MontyChecker implements AsyncDisposable {
  readonly #pool: ChildPool;
  readonly #clock: Clock;
  readonly #verdicts = new Map<string, Verdict>();

  constructor(spec: ChildSpec, clock: Clock) {
    this.#pool = new ChildPool(spec, { warm: 1, most, startsAtOnce: allButOne(), scriptsEach });
    this.#clock = clock;
  }

  warm(): void {
    this.#pool.warm();
  }

  /**
   * @param signal nobody waits for the verdict any more
   * @throws Error when no process can be started
   */
  async verdict(program: Program, signal?: AbortSignal): Promise<Verdict> {
    const { source, tools } = program;
    // What is looked for in a stranger's text here is looked for in our own process: bounded.
    if (Buffer.byteLength(source) > longestScriptBytes)
      return { unsupported: `a script of more than ${longestScriptBytes} bytes` };
    const key = hash("sha256", `${digestOf(tools)}${JSON.stringify(source)}`, "base64");
    if (this.#verdicts.has(key)) return this.#verdicts.get(key);
    const found = await this.#judged(program, signal);
    if ("failed" in found) return { unsupported: found.failed };
    if (this.#verdicts.size >= mostRemembered) this.#verdicts.clear();
    this.#verdicts.set(key, found.verdict);
    return found.verdict;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }

  async #judged(program: Program, signal: AbortSignal | undefined): Promise<{ readonly verdict: Verdict } | Failed> {
    const { source, tools, owner } = program;
    const own = rewritten(program);
    const stubs = pythonStubs(tools, source);
    const order = { source: "source" in own ? own.source : "", original: source, stubs };
    const first = await this.#read(order, owner, signal);
    // One that was ended from outside says nothing of the script: another is asked.
    const read = "failed" in first && first.isGone ? await this.#read(order, owner, signal) : first;
    if ("failed" in read) return read;
    const { problems, unparsed } = read.found;
    const judged = judge({ problems: String(problems), source, stubs, available: placesOf(tools) });
    if (judged !== undefined && "invalid" in judged) return { verdict: judged };
    const lack =
      "unsupported" in own
        ? own.unsupported
        : (scanForMonty(source, toolNames(tools).acting) ?? (typeof unparsed === "string" ? unparsed : undefined));
    return { verdict: lack === undefined ? judged : { unsupported: lack } };
  }

  async #read(
    order: JsonObject,
    owner: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly found: JsonObject } | Failed> {
    const child = await this.#pool.take(owner, signal).catch((error: unknown) => {
      if (signal?.aborted !== true) throw error;
    });
    if (child === undefined) return unheard;
    const leave = (): void => child.kill();
    signal?.addEventListener("abort", leave);
    if (signal?.aborted === true) leave();
    const meter = new CpuMeter(child.pid, this.#clock);
    let isOver = false;
    const unwatch = watchTurn({ meter, clock: this.#clock }, limits, () => {
      isOver = true;
      child.kill();
    });
    child.send({ do: "start", ...order });
    const heard = await child.receive();
    unwatch();
    signal?.removeEventListener("abort", leave);
    const found = heard.heard === "frame" && heard.frame["checked"] === true ? heard.frame : undefined;
    if (found?.["problems"] === "" && !meter.isSlowed) void this.#pool.release(child, owner);
    else child.kill();
    if (found !== undefined) return { found };
    if (signal?.aborted === true) return unheard;
    return isOver
      ? { failed: "its checker took too long over the script", isGone: false }
      : { failed: "its checker did not survive the script", isGone: true };
  }
}

const digestOf = onceFor((tools: Program["tools"]) => hash("sha256", JSON.stringify(tools), "base64"));
const placesOf = onceFor((tools: Program["tools"]) => tools.map(placeOf));

const unheard: Failed = { failed: "nobody waits for its checker", isGone: false };

interface Failed {
  readonly failed: string;
  /** It ended by itself, or was ended by somebody else. */
  readonly isGone: boolean;
}
