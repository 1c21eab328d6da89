import { narrower } from "../core/authority.ts";
import { messageOf, RuntimeFault } from "../core/fault.ts";
import { sha256 } from "../core/json.ts";
import type { Caller } from "../core/session.ts";
import type { SandboxDriver, ScriptProgram } from "../engines/sandbox.ts";
import { ToolCallContext } from "../pipeline/context.ts";
import type { ClaimedCall } from "../pipeline/gates/stages.ts";
import type { Suspended, ToolContext } from "../tools/tool.ts";
import type { ScriptHost } from "./chain-dependencies.ts";
import { scriptLimits } from "./chain-options.ts";
import { type StoppedScript, stoppedEnd } from "./drive.ts";
import { type Conclude, EngineTurn, type PassedOver, type Unbegun } from "./engine-turn.ts";
import type { FrozenScript } from "./frozen.ts";
import type { Journal, JournalState } from "./journal.ts";
import type { ChainAnswer } from "./result.ts";
import { ScriptEnd } from "./script-end.ts";
import type { ScriptFacts } from "./script-facts.ts";
import { ScriptWatch, type StopReason } from "./watch.ts";
import { withinScript } from "./within-script.ts";

/** What the caller asks for; checked by the tool's schema. */
export interface Script {
  readonly source: string;
  readonly language: ScriptProgram["language"];
  readonly timeoutMs: number;
}

/** Runs a script, or lets one go on that waited for a person. */
export async function runScript(
  script: Script,
  context: ToolContext,
  house: ScriptHost,
): Promise<ChainAnswer | Suspended> {
  const inside = ToolCallContext.inside(context);
  if (inside === undefined) throw new RuntimeFault("chain_outside", "A script runs only as a call of `tool_chain`.");
  const facts = factsOf({ script, context, inside, house });
  const { frozen } = context;
  const taken = frozen === undefined ? undefined : await house.frozen.take(frozen, facts.parent.key);
  if (taken !== undefined && "refused" in taken)
    return await new ScriptEnd(facts).failed({ why: "crash", message: taken.refused });
  const { log } = house.parts;
  if (taken !== undefined && "gone" in taken && taken.why !== undefined)
    log(`The frozen script \`${facts.parent.id}\` is replayed: ${taken.why}.`);
  const thawed = taken !== undefined && "script" in taken ? taken.script : undefined;
  if (thawed === undefined) return await new ScriptCall(facts).run();
  if (thawed.header.source !== facts.sourceDigest) {
    const message = "The frozen script is another one than this call's.";
    return await new ScriptEnd(facts, thawed).failed({ why: "crash", message });
  }
  const { limits, usedMs } = thawed.session;
  // Not guessed anew: what is spoken here may have changed.
  const program = { ...facts.program, language: thawed.header.language as ScriptProgram["language"] }; // it was sealed by us
  return await new ScriptCall({ ...facts, program, limits: narrower(limits, facts.limits), usedMs }, thawed).run();
}

interface Calling {
  readonly script: Script;
  readonly context: ToolContext;
  readonly inside: { readonly call: ClaimedCall; readonly caller: Caller };
  readonly house: ScriptHost;
}

function factsOf({ script, context, inside, house }: Calling): ScriptFacts {
  const { source, language, timeoutMs } = script;
  const { call, caller } = inside;
  const { terms, parts } = house;
  const { session } = caller;
  const { key, authority } = call;
  const { arrivedAt: startedAt, id } = call.record?.call ?? call;
  const offer = house.offer(authority.principal);
  const chainId = `chain_${sha256(`chain\0${key}`).slice(0, 32)}`;
  const owner = authority.principal.tenant;
  return {
    ...{ house, context, caller, offer, begunAt: parts.clock.monotonic(), usedMs: 0, requests: new Set() },
    parent: { id, key, authority: withinScript(authority, terms.limits.maxRiskUnapproved) },
    limits: scriptLimits(terms.limits, session.limits, { remainingMs: session.remainingMs(), timeoutMs }),
    program: { language, source, tools: offer.sketches, chainId, startedAt, owner },
    sourceDigest: sha256(source),
    wentBefore: call.record?.startedAt !== undefined,
  };
}

/** One call of `tool_chain`: from a fresh or a frozen script to its answer, through as many engines as it takes. */
class ScriptCall {
  readonly #facts: ScriptFacts;
  readonly #thawed: FrozenScript | undefined;
  readonly #end: ScriptEnd;
  /** What is known of what it did before: where it was frozen, or by the last engine that passed. */
  #left: JournalState | undefined;

  constructor(facts: ScriptFacts, thawed?: FrozenScript) {
    this.#facts = facts;
    this.#thawed = thawed;
    this.#end = new ScriptEnd(facts, thawed);
    this.#left = thawed?.journal;
  }

  /** Listed while it lasts; its time, its caller and the house's end reach it from here on, whatever it waits for. */
  async run(): Promise<ChainAnswer | Suspended> {
    const { house, context, parent, program, limits, usedMs } = this.#facts;
    const { clock, log } = house.parts;
    const listed = { chainId: program.chainId, callId: parent.id };
    using watch = new ScriptWatch(clock, Math.max(0, limits.totalTimeoutMs - usedMs), context.signal);
    try {
      return await house.live.during(listed, watch, () => this.#throughEngines(watch));
    } catch (error) {
      if (context.signal.aborted) throw context.signal.reason;
      const message = `Postern could not go on with the script: ${messageOf(error)}.`;
      log(message);
      return await this.#end.failed({ why: "crash", message, again: true });
    }
  }

  /**
   * An engine that does not start, or finds the script unsupported, before its first call or in the middle: the next one
   * takes it, and finds in the ledger what was done.
   */
  async #throughEngines(watch: ScriptWatch): Promise<ChainAnswer | Suspended> {
    const { house, program } = this.#facts;
    const { language } = program;
    const passed: PassedOver[] = [];
    const drivers = house.engines.for(language, this.#thawed?.header.driver);
    for (;;) {
      const next = await watch.until(drivers.next()); // an engine is asked when its turn comes, which may take it long
      if (watch.stopped !== undefined) return await this.#stopped(watch.stopped);
      if (next === undefined || next.done === true) break;
      const answer = await this.#inEngine(next.value, watch);
      if ("stopped" in answer) return await this.#end.stopped(answer.stopped);
      if (!("unsupported" in answer)) return answer;
      this.#saw(answer.journal);
      passed.push({ ...answer, unsupported: `${next.value.name}: ${answer.unsupported}` });
    }
    return await this.#passedOver(passed);
  }

  #saw(journal: Journal | undefined): void {
    if (journal === undefined) return;
    this.#end.saw(journal);
    this.#left = journal.freeze(journal.mark());
  }

  /** One that cannot be started today may be tomorrow: a script that has begun waits for it. */
  async #passedOver(passed: readonly PassedOver[]): Promise<ChainAnswer> {
    const { house, program, wentBefore } = this.#facts;
    if (passed.length === 0) {
      const message = await house.engines.problemFor(program.language);
      return await this.#end.failed({ why: "crash", message, again: wentBefore });
    }
    const reasons = passed.map(({ unsupported }) => unsupported).join("; ");
    const why = passed.some(({ isDown }) => isDown !== true) ? "unsupported" : "crash";
    const again = passed.some(({ isDown }) => isDown === true);
    return await this.#end.failed({ why, message: `No engine here can run this script. ${reasons}.`, again });
  }

  async #inEngine(driver: SandboxDriver, watch: ScriptWatch): Promise<ChainAnswer | Suspended | PassedOver | Unbegun> {
    const turn = new EngineTurn(driver, this.#facts, watch);
    const conclude: Conclude<ChainAnswer | Suspended> = (...ended) => this.#end.concluded(...ended);
    const thawed = this.#thawed;
    const answer = await this.#asked(turn, thawed, conclude);
    if (answer !== "unfit") return answer;
    const replayed = await this.#asked(turn, thawed && { ...thawed, image: undefined }, conclude);
    if (replayed !== "unfit") return replayed;
    return { unsupported: "it does not go on with the script", isDown: true };
  }

  async #asked(
    turn: EngineTurn,
    thawed: FrozenScript | undefined,
    conclude: Conclude<ChainAnswer | Suspended>,
  ): Promise<ChainAnswer | Suspended | PassedOver | Unbegun | "unfit"> {
    const found = await turn.check(thawed);
    if (found === undefined) return await turn.run(thawed, conclude, this.#left);
    if ("invalid" in found) return await this.#end.failed({ why: "script", message: found.invalid });
    return found;
  }

  async #stopped(reason: StopReason): Promise<ChainAnswer> {
    const stopped: StoppedScript = stoppedEnd(reason, this.#facts.limits);
    return await this.#end.stopped(stopped);
  }
}
