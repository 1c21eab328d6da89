import { RuntimeFault } from "../calls/fault.ts";
import { sha256 } from "../calls/json.ts";
import type { Caller } from "../calls/session.ts";
import { CallContext } from "../executors/context.ts";
import type { ClaimedCall } from "../gates/stages.ts";
import { suspended } from "../tools/define.ts";
import type { Suspended, ToolContext } from "../tools/tool.ts";
import type { ChainHouse } from "./chain-house.ts";
import { scriptLimits } from "./chain-options.ts";
import { type End, type FailedWhy, type Stopped, waitsFor } from "./drive.ts";
import { type Conclude, EngineTurn, type PassedOver, type ScriptFacts } from "./engine-turn.ts";
import type { FrozenScript } from "./frozen.ts";
import { Journal } from "./journal.ts";
import { scriptOffer } from "./offer.ts";
import { type ChainAnswer, chainAnswer, filesOf, type Told } from "./result.ts";
import type { Program, SandboxDriver } from "./sandbox.ts";
import type { ScriptRun } from "./script-run.ts";
import { withinScript } from "./within-script.ts";

/** What the caller asks for; checked by the tool's schema. */
export interface Script {
  readonly source: string;
  readonly language: Program["language"];
  readonly timeoutMs: number;
}

/** Runs a script, or lets one go on that waited for a person. */
export async function runScript(
  script: Script,
  context: ToolContext,
  house: ChainHouse,
): Promise<ChainAnswer | Suspended> {
  const inside = CallContext.inside(context);
  if (inside === undefined) throw new RuntimeFault("chain_outside", "A script runs only as a call of `tool_chain`.");
  return new ScriptCall({ script, context, inside, house }).run();
}

interface Calling {
  readonly script: Script;
  readonly context: ToolContext;
  readonly inside: { readonly call: ClaimedCall; readonly caller: Caller };
  readonly house: ChainHouse;
}

/** One call of `tool_chain`: from a fresh or a frozen script to its answer, through as many engines as it takes. */
class ScriptCall {
  readonly #facts: ScriptFacts;

  constructor({ script, context, inside, house }: Calling) {
    const { source, language, timeoutMs } = script;
    const { call, caller } = inside;
    const { terms, parts } = house;
    const { session } = caller;
    const { key, authority } = call;
    const { arrivedAt: startedAt, id } = call.record?.call ?? call;
    const offer = scriptOffer(house.offered(authority.principal));
    const chainId = `chain_${sha256(`chain\0${key}`).slice(0, 32)}`;
    const owner = authority.principal.tenant;
    this.#facts = {
      ...{ house, context, caller, offer, begunAt: parts.clock.monotonic() },
      parent: { id, key, authority: withinScript(authority, terms.limits.maxRiskUnapproved) },
      limits: scriptLimits(terms.limits, session.limits, { remainingMs: session.remainingMs(), timeoutMs }),
      program: { language, source, tools: offer.sketches, chainId, startedAt, owner },
    };
  }

  async run(): Promise<ChainAnswer | Suspended> {
    const { frozen } = this.#facts.context;
    const taken =
      frozen === undefined ? undefined : await this.#facts.house.frozen.take(frozen, this.#facts.parent.key);
    if (taken !== undefined && "refused" in taken) return this.#failed(taken.refused);
    const thawed = taken !== undefined && "script" in taken ? taken.script : undefined;
    if (thawed !== undefined && thawed.header.source !== sha256(this.#facts.program.source))
      return this.#failed("The frozen script is another one than this call's.");
    return await this.#throughEngines(thawed);
  }

  /**
   * An engine that does not start, or finds the script unsupported, before its first call or in the middle: the next one
   * takes it, and finds in the ledger what was done.
   */
  async #throughEngines(thawed: FrozenScript | undefined): Promise<ChainAnswer | Suspended> {
    const { engines } = this.#facts.house;
    const { language } = this.#facts.program;
    const passed: PassedOver[] = [];
    for await (const driver of engines.for(language, thawed?.header.driver)) {
      const answer = await this.#inEngine(driver, thawed);
      if (!("unsupported" in answer)) return answer;
      passed.push({ ...answer, unsupported: `${driver.name}: ${answer.unsupported}` });
    }
    if (passed.length === 0) return this.#failed(await engines.problemFor(language));
    const reasons = passed.map(({ unsupported }) => unsupported).join("; ");
    const isUnsupported = passed.some(({ isDown }) => isDown !== true);
    return this.#failed(`No engine here can run this script. ${reasons}`, isUnsupported ? "unsupported" : "crash");
  }

  async #inEngine(
    driver: SandboxDriver,
    thawed: FrozenScript | undefined,
  ): Promise<ChainAnswer | Suspended | PassedOver> {
    const turn = new EngineTurn(driver, this.#facts);
    const checked = await turn.check();
    if (checked !== undefined && "unsupported" in checked) return checked;
    if (checked !== undefined) return this.#untaken("stopped" in checked ? checked.stopped : checked);
    const conclude: Conclude<ChainAnswer | Suspended> = (...ended) => this.#concluded(...ended);
    const answer = await turn.run(thawed, conclude);
    if (answer !== "unfit") return answer;
    const replayed = await turn.run(thawed && { ...thawed, image: undefined }, conclude);
    if (replayed !== "unfit") return replayed;
    return this.#failed(`The engine \`${driver.name}\` cannot go on with the script.`);
  }

  /** It is no script, or its time was over before it was known whether it is one. */
  #untaken(found: Stopped | { readonly invalid: string }): ChainAnswer {
    if ("invalid" in found) return this.#failed(found.invalid, "script");
    if (found.end === "cancelled") throw this.#facts.context.signal.reason;
    return this.#failed(found.message, found.why);
  }

  async #concluded(end: End, run: ScriptRun, driver: SandboxDriver): Promise<ChainAnswer | Suspended> {
    const { frozen } = this.#facts.house;
    if (end.end === "cancelled") throw this.#facts.context.signal.reason;
    if (end.end === "halted") {
      const { approvalId, expiresAt } = end.halted;
      const reference = await this.#freeze(end.halted, driver);
      this.#facts.context.emit("chain.frozen", `The script waits for a person (${approvalId}).`, {
        approval_id: approvalId,
      });
      return suspended({ suspended: reference, approvalId, expiresAt, waitsFor: waitsFor(end.halted) });
    }
    await this.#handOn(end, run);
    if (this.#facts.context.frozen !== undefined) await frozen.forget(this.#facts.parent.key);
    const durationMs = run.session.usedMs;
    const answer = this.#answer(end, { journal: run.journal, durationMs, engine: driver.name });
    const said = end.end === "done" ? "The script ended." : `The script failed: ${end.why}.`;
    this.#facts.context.emit("chain.ended", said, { engine: driver.name, tool_calls: run.journal.callCount });
    return answer;
  }

  #freeze(halted: Extract<End, { end: "halted" }>["halted"], driver: SandboxDriver): Promise<string> {
    const { frozen, parts } = this.#facts.house;
    const { id, key, authority } = this.#facts.parent;
    const frozenAt = parts.clock.now();
    const { language, source } = this.#facts.program;
    const data = { call_id: id, approval_id: halted.approvalId, engine: driver.name };
    return frozen.put(
      halted,
      { key, driver: driver.name, engine: driver.engine, language, source: sha256(source), frozenAt },
      {
        moment: "noted",
        at: frozenAt,
        type: "chain.frozen",
        summary: `The script \`${id}\` waits for a person.`,
        traceId: authority.traceId,
        tenant: authority.principal.tenant,
        principal: authority.principal,
        policyVersion: parts.policy.version,
        outcome: "info",
        data,
      },
    );
  }

  /** What goes back stays held as a direct result of the caller's session; the script's own pins end with it. */
  async #handOn(end: End, run: ScriptRun): Promise<void> {
    const { session } = this.#facts.caller;
    for (const { artifact } of filesOf(end, run.journal)) {
      if (session.pins.includes(artifact)) continue;
      await this.#facts.house.parts.artifacts.pin(artifact);
      session.pin(artifact);
    }
  }

  #failed(message: string, why: FailedWhy = "crash"): ChainAnswer {
    const nothing = { journal: new Journal(0), durationMs: 0, engine: undefined };
    return this.#answer({ end: "failed", why, message }, nothing);
  }

  #answer(end: Parameters<typeof chainAnswer>[0], told: Omit<Told, "inlineBytes">): ChainAnswer {
    return chainAnswer(end, { ...told, inlineBytes: this.#facts.caller.session.limits.maxInlineResultBytes });
  }
}
