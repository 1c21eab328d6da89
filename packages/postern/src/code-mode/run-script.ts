import { type Authority, defined, messageOf, type Risk, RuntimeFault } from "@postern/core";
import type { SandboxDriver, ScriptProgram } from "@postern/core/sandbox";
import { sha256 } from "@postern/core/system";
import { narrower } from "../call/authority.ts";
import type { Caller } from "../call/session.ts";
import { ToolCallContext } from "../pipeline/context.ts";
import type { ClaimedCall } from "../pipeline/gates/stages.ts";
import { lowerThreshold } from "../policy/risk/threshold.ts";
import type { Suspended, ToolContext } from "../tools/tool.ts";
import { scriptLimits } from "./chain-options.ts";
import { stoppedEnd } from "./drive.ts";
import { type Conclude, EngineTurn, type SkippedEngine, type StoppedBeforeStart } from "./engine-turn.ts";
import type { FrozenScript } from "./frozen.ts";
import type { JournalState } from "./journal.ts";
import { ScriptWatch } from "./live-scripts.ts";
import type { ChainAnswer } from "./result.ts";
import { ScriptEnd } from "./script-end.ts";
import type { ScriptFacts, ScriptHost } from "./script-run.ts";
import { TimerRecord } from "./script-timers.ts";

/** The arguments of `tool_chain`, which its schema has checked. */
export interface Script {
  readonly source: string;
  readonly language: ScriptProgram["language"];
  readonly timeoutMs: number;
}

/** Runs a script, or continues one that waited for a person. */
export async function runScript(
  script: Script,
  context: ToolContext,
  host: ScriptHost,
): Promise<ChainAnswer | Suspended> {
  const inside = ToolCallContext.inside(context);
  if (inside === undefined) throw new RuntimeFault("internal", "A script runs only as a call of `tool_chain`.");
  const facts = factsOf({ script, context, inside, host });
  if (facts.hasRunBefore) await facts.timers.load();
  const { frozen } = context;
  const taken = frozen === undefined ? undefined : await host.frozen.take(frozen, facts.parent.key);
  if (taken !== undefined && "refused" in taken)
    return await new ScriptEnd(facts).failed({ why: "crash", message: taken.refused });
  const { log } = host.parts;
  if (taken !== undefined && "gone" in taken && taken.why !== undefined)
    log(`The frozen script \`${facts.parent.id}\` is replayed: ${taken.why}.`);
  const thawed = taken !== undefined && "script" in taken ? taken.script : undefined;
  if (thawed === undefined) return await new ScriptCall(facts).run();
  if (thawed.header.source !== facts.sourceDigest) {
    const message = "The frozen script is another one than this call's.";
    return await new ScriptEnd(facts, thawed).failed({ why: "crash", message });
  }
  const { limits, usedMs } = thawed.session;
  // The language is not guessed again: the engines may have changed.
  const program = { ...facts.program, language: thawed.header.language as ScriptProgram["language"] }; // this installation sealed it
  return await new ScriptCall({ ...facts, program, limits: narrower(limits, facts.limits), usedMs }, thawed).run();
}

interface Calling {
  readonly script: Script;
  readonly context: ToolContext;
  readonly inside: { readonly call: ClaimedCall; readonly caller: Caller };
  readonly host: ScriptHost;
}

function factsOf({ script, context, inside, host }: Calling): ScriptFacts {
  const { source, language, timeoutMs } = script;
  const { call, caller } = inside;
  const { terms, parts } = host;
  const { session } = caller;
  const { key, authority } = call;
  const { arrivedAt: startedAt, id } = call.record?.call ?? call;
  const offer = host.offer(authority);
  const chainId = `chain_${sha256(`chain\0${key}`).slice(0, 32)}`;
  const owner = authority.principal.tenant;
  return {
    ...{ host, context, caller, offer, begunAt: parts.clock.monotonic(), usedMs: 0, requests: new Set() },
    timers: new TimerRecord(host.frozen, key),
    parent: { id, key, authority: withinScript(authority, terms.limits.maxRiskUnapproved) },
    used: call.artifacts,
    limits: scriptLimits(terms.limits, session.limits, { remainingMs: session.remainingMs(), timeoutMs }),
    program: { language, source, tools: offer.sketches, chainId, startedAt, owner },
    sourceDigest: sha256(source),
    hasRunBefore: call.record?.startedAt !== undefined,
  };
}

/**
 * The authority of a script's calls: at most the caller's. If no autonomy level decides, the threshold of a script is `safe`,
 * whatever it is for direct calls, unless the operator sets another one for scripts. The caller's own limit lowers either.
 *
 * @param forScripts the threshold in `chains.limits`
 */
function withinScript(authority: Authority, forScripts: Risk | undefined): Authority {
  const threshold = forScripts ?? (authority.autonomy === undefined ? "safe" : undefined);
  const maxRiskUnapproved = lowerThreshold(threshold, authority.maxRiskUnapproved);
  return { ...authority, fromChain: true, ...defined({ maxRiskUnapproved }) };
}

type ScriptAnswer = ChainAnswer | Suspended;

/** One call of `tool_chain`: takes a new or a frozen script through the engines to its answer. */
class ScriptCall {
  readonly #facts: ScriptFacts;
  readonly #thawed: FrozenScript | undefined;
  readonly #end: ScriptEnd;
  /** The state of its earlier turns: from the last engine, or from its frozen state. */
  #left: JournalState | undefined;

  constructor(facts: ScriptFacts, thawed?: FrozenScript) {
    this.#facts = facts;
    this.#thawed = thawed;
    this.#end = new ScriptEnd(facts, thawed);
    this.#left = thawed?.journal;
  }

  /** The script is listed while it runs, and its time, its caller and the end of the runtime can stop it. */
  async run(): Promise<ScriptAnswer> {
    const { host, context, parent, program, limits, usedMs } = this.#facts;
    const { clock, log } = host.parts;
    const listed = { chainId: program.chainId, callId: parent.id };
    using watch = new ScriptWatch(clock, Math.max(0, limits.totalTimeoutMs - usedMs), context.signal);
    try {
      return await host.live.during(listed, watch, () => this.#throughEngines(watch));
    } catch (error) {
      if (context.signal.aborted) throw context.signal.reason;
      const message = `Postern could not continue the script: ${messageOf(error)}.`;
      log(message);
      return await this.#end.failed({ why: "crash", message, again: true });
    }
  }

  /** If an engine does not start or cannot run the script, the next one takes it and finds its calls in the ledger. */
  async #throughEngines(watch: ScriptWatch): Promise<ScriptAnswer> {
    const { host, program, limits } = this.#facts;
    const passed: SkippedEngine[] = [];
    const drivers = host.engines.for(program.language, this.#thawed?.header.driver);
    for (;;) {
      const next = await watch.until(drivers.next()); // an engine is asked when its turn comes, which may take long
      if (watch.stopped !== undefined) return await this.#end.stopped(stoppedEnd(watch.stopped, limits));
      if (next === undefined || next.done === true) return await this.#noEngine(passed);
      const answer = await this.#inEngine(next.value, watch);
      if ("stopped" in answer) return await this.#end.stopped(answer.stopped);
      if (!("unsupported" in answer)) return answer;
      const { journal } = answer;
      if (journal !== undefined) {
        this.#end.takeJournal(journal);
        this.#left = journal.freeze();
      }
      passed.push({ ...answer, unsupported: `${next.value.name}: ${answer.unsupported}` });
    }
  }

  /** An engine that does not start now may start later: then the script may be sent again. */
  async #noEngine(passed: readonly SkippedEngine[]): Promise<ChainAnswer> {
    const { host, program, hasRunBefore } = this.#facts;
    if (passed.length === 0) {
      const message = await host.engines.problemFor(program.language);
      return await this.#end.failed({ why: "crash", message, again: hasRunBefore });
    }
    const reasons = passed.map(({ unsupported }) => unsupported).join("; ");
    const why = passed.some(({ isDown }) => isDown !== true) ? "unsupported" : "crash";
    const again = passed.some(({ isDown }) => isDown === true);
    return await this.#end.failed({ why, message: `No engine here can run this script. ${reasons}.`, again });
  }

  /** Without an image that the engine takes, the script is replayed. */
  async #inEngine(
    driver: SandboxDriver,
    watch: ScriptWatch,
  ): Promise<ScriptAnswer | SkippedEngine | StoppedBeforeStart> {
    const turn = new EngineTurn(driver, this.#facts, watch);
    const conclude: Conclude<ScriptAnswer> = (...ended) => this.#end.concluded(...ended);
    for (const thawed of [this.#thawed, this.#thawed && { ...this.#thawed, image: undefined }]) {
      const found = await turn.check(thawed);
      if (found !== undefined && "invalid" in found)
        return await this.#end.failed({ why: "script", message: found.invalid });
      const answer = found ?? (await turn.run(thawed, conclude, this.#left));
      if (answer !== "unfit") return answer;
    }
    return { unsupported: "it does not go on with the script", isDown: true };
  }
}
