import { messageOf, RuntimeFault } from "../calls/fault.ts";
import { sha256 } from "../calls/json.ts";
import { type Caller, type Limits, Session } from "../calls/session.ts";
import { CallContext } from "../executors/context.ts";
import type { ClaimedCall } from "../gates/stages.ts";
import { releasePins } from "../results/release-pins.ts";
import { suspended } from "../tools/define.ts";
import type { Suspended, ToolContext } from "../tools/tool.ts";
import type { ChainHouse } from "./chain-house.ts";
import { scriptLimits } from "./chain-options.ts";
import { drive, type End, waitsFor } from "./drive.ts";
import type { FrozenScript } from "./frozen.ts";
import { Journal } from "./journal.ts";
import { scriptOffer } from "./offer.ts";
import { type ChainAnswer, chainAnswer, filesOf, type Told } from "./result.ts";
import type { Program, SandboxDriver, SandboxSession } from "./sandbox.ts";
import { type Parent, ScriptRun, type Waiting } from "./script-run.ts";
import { Watch } from "./watch.ts";
import { withinScript } from "./within-script.ts";

/** What the caller asks for; checked by the tool's schema. */
export interface Script {
  readonly source: string;
  readonly language: Program["language"];
  readonly timeoutMs: number;
}

/** The engine does not run it, and another one may. */
interface PassedOver {
  readonly unsupported: string;
  /** Nothing is wrong with the script: the engine could not be started. */
  readonly isDown?: true;
}

/** Runs a script, or lets one go on that waited for a person. */
export async function runScript(
  script: Script,
  context: ToolContext,
  house: ChainHouse,
): Promise<ChainAnswer | Suspended> {
  const inside = CallContext.inside(context);
  if (inside === undefined) throw new RuntimeFault("chain_outside", "A script runs only as a call of `tool_chain`.");
  return new ScriptCall(script, context, inside, house).run();
}

/** One call of `tool_chain`: from a fresh or a frozen script to its answer, through as many engines as it takes. */
class ScriptCall {
  readonly #script: Script;
  readonly #context: ToolContext;
  readonly #caller: Caller;
  readonly #house: ChainHouse;
  readonly #parent: Parent;
  readonly #limits: Limits;
  readonly #program: Program;
  readonly #offer: ReturnType<typeof scriptOffer>;

  constructor(
    script: Script,
    context: ToolContext,
    { call, caller }: { readonly call: ClaimedCall; readonly caller: Caller },
    house: ChainHouse,
  ) {
    this.#script = script;
    this.#context = context;
    this.#caller = caller;
    this.#house = house;
    const { terms } = house;
    const { session } = caller;
    this.#limits = scriptLimits(terms.limits, session.limits, session.remainingMs(), script.timeoutMs);
    const id = call.record?.call.id ?? call.id;
    this.#parent = { id, key: call.key, authority: withinScript(call.authority, terms.limits.maxRiskUnapproved) };
    this.#offer = scriptOffer(house.offered(call.authority.principal));
    const { language, source } = script;
    const chainId = `chain_${sha256(`chain\0${call.key}`).slice(0, 32)}`;
    const owner = call.authority.principal.tenant;
    const { arrivedAt: startedAt } = call.record?.call ?? call;
    this.#program = { language, source, tools: this.#offer.sketches, chainId, startedAt, owner };
  }

  async run(): Promise<ChainAnswer | Suspended> {
    const { frozen } = this.#context;
    const taken = frozen === undefined ? undefined : await this.#house.frozen.take(frozen, this.#parent.key);
    if (taken !== undefined && "refused" in taken) return this.#failed(taken.refused);
    const thawed = taken !== undefined && "script" in taken ? taken.script : undefined;
    if (thawed !== undefined && thawed.header.source !== sha256(this.#script.source))
      return this.#failed("The frozen script is another one than this call's.");
    return await this.#throughEngines(thawed);
  }

  /**
   * An engine that does not start, or finds the script unsupported, before its first call or in the middle: the next one
   * takes it, and finds in the ledger what was done.
   */
  async #throughEngines(thawed: FrozenScript | undefined): Promise<ChainAnswer | Suspended> {
    const { engines } = this.#house;
    const { language } = this.#script;
    const passed: PassedOver[] = [];
    for await (const driver of engines.for(language, thawed?.header.driver)) {
      const checked = await this.#checked(driver);
      if (checked !== undefined && "invalid" in checked) return this.#failed(checked.invalid, "script");
      const answer = checked ?? (await this.#inEngine(driver, thawed));
      if (!("unsupported" in answer)) return answer;
      passed.push({ ...answer, unsupported: `${driver.name}: ${answer.unsupported}` });
    }
    if (passed.length === 0) return this.#failed(await engines.problemFor(language));
    const reasons = passed.map(({ unsupported }) => unsupported).join("; ");
    const isUnsupported = passed.some(({ isDown }) => isDown !== true);
    return this.#failed(`No engine here can run this script. ${reasons}`, isUnsupported ? "unsupported" : "crash");
  }

  async #checked(driver: SandboxDriver): Promise<PassedOver | { readonly invalid: string } | undefined> {
    try {
      return await driver.check?.(this.#program);
    } catch (error) {
      return this.#down(driver, error); // what checks is the engine itself
    }
  }

  #down({ name }: SandboxDriver, error: unknown): PassedOver {
    this.#house.parts.log(`The engine \`${name}\` does not start: ${messageOf(error)}.`);
    return { unsupported: `it does not start (${messageOf(error)})`, isDown: true };
  }

  async #inEngine(
    driver: SandboxDriver,
    thawed: FrozenScript | undefined,
  ): Promise<ChainAnswer | Suspended | PassedOver> {
    const answer = await this.#tried(driver, thawed);
    if (answer !== "unfit") return answer;
    const replayed = await this.#tried(driver, thawed && { ...thawed, image: undefined });
    return replayed === "unfit"
      ? this.#failed(`The engine \`${driver.name}\` cannot go on with the script.`)
      : replayed;
  }

  async #tried(
    driver: SandboxDriver,
    thawed: FrozenScript | undefined,
  ): Promise<ChainAnswer | Suspended | PassedOver | "unfit"> {
    const { parts, live, makeChild } = this.#house;
    const { clock } = parts;
    const image = fits(driver, thawed) ? thawed : undefined;
    const session = new Session(this.#limits, clock, image && { ...image.session, limits: this.#limits });
    const journal = new Journal(this.#house.terms.outputBytes, image?.journal);
    using watch = new Watch(clock, session.remainingMs(), this.#context.signal);
    const waiting: Waiting = new Map(thawed?.header.waiting.map(({ place, approvalId }) => [place, approvalId]));
    const run = new ScriptRun({
      ...{ parts, makeChild, session, journal, watch, waiting, usedCpuMs: image?.usedCpuMs ?? 0 },
      callsAtOnce: this.#house.terms.callsAtOnce,
      ...{ parent: this.#parent, offer: this.#offer, context: this.#context, caller: this.#caller },
    });
    const { principal, runId } = this.#parent.authority;
    const { chainId } = this.#program;
    live.register({ chainId, callId: this.#parent.id, tenant: principal.tenant, runId, startedAt: clock.now() }, watch);
    try {
      await this.#repin(session);
      const end = await this.#driven(driver, image, run);
      if (end === "unfit" || "unsupported" in end) return end;
      if (end.end === "failed" && end.why === "unsupported") return { unsupported: end.message };
      return await this.#concluded(end, run, driver);
    } finally {
      live.deregister(chainId);
      session.close();
      await releasePins(session, parts.artifacts, parts.log);
    }
  }

  /** `unfit`: the engine does not take its own image back. */
  async #driven(
    driver: SandboxDriver,
    image: FrozenScript | undefined,
    run: ScriptRun,
  ): Promise<End | PassedOver | "unfit"> {
    const engine = await this.#opened(driver, image, run).catch((error: unknown) => this.#down(driver, error));
    if (engine === undefined) return "unfit";
    if ("unsupported" in engine) return engine;
    try {
      run.watch.guard(engine);
      return await drive(engine, run, image?.batch);
    } catch (error) {
      return { end: "failed", why: "crash", message: `The engine \`${driver.name}\` failed: ${messageOf(error)}` };
    } finally {
      await this.#close(engine, driver.name);
    }
  }

  async #close(engine: SandboxSession, name: string): Promise<void> {
    try {
      await engine[Symbol.asyncDispose]();
    } catch (error) {
      this.#house.parts.log(`The engine \`${name}\` could not be closed: ${messageOf(error)}.`);
    }
  }

  async #opened(
    driver: SandboxDriver,
    frozen: FrozenScript | undefined,
    run: ScriptRun,
  ): Promise<SandboxSession | undefined> {
    const { cpuMs, memoryBytes, outputBytes } = this.#house.terms;
    const left = Math.max(1, cpuMs - run.usedCpuMs);
    const limits = { cpuMs: left, memoryBytes, outputBytes, wallMs: run.session.remainingMs() };
    if (frozen?.image === undefined) return driver.start(this.#program, limits);
    return driver.restore(frozen.image, limits, this.#program.owner).catch((error: unknown) => {
      this.#house.parts.log(
        `\`${driver.name}\` does not take a frozen script back (${messageOf(error)}); it is replayed.`,
      );
      return undefined;
    });
  }

  /** What a frozen script had kept is held again while it runs. */
  async #repin(session: Session): Promise<void> {
    for (const digest of session.pins)
      await this.#house.parts.artifacts
        .pin(digest)
        .catch(() => this.#house.parts.log(`The artifact \`${digest}\` is gone.`));
  }

  async #concluded(end: End, run: ScriptRun, driver: SandboxDriver): Promise<ChainAnswer | Suspended> {
    const { frozen } = this.#house;
    if (end.end === "cancelled") throw this.#context.signal.reason;
    if (end.end === "halted") {
      const { approvalId, expiresAt } = end.halted;
      const reference = await this.#freeze(end.halted, driver);
      this.#context.emit("chain.frozen", `The script waits for a person (${approvalId}).`, { approval_id: approvalId });
      return suspended({ suspended: reference, approvalId, expiresAt, waitsFor: waitsFor(end.halted) });
    }
    await this.#handOn(end, run);
    if (this.#context.frozen !== undefined) await frozen.forget(this.#parent.key);
    const durationMs = run.session.usedMs;
    const answer = this.#answer(end, { journal: run.journal, durationMs, engine: driver.name });
    const said = end.end === "done" ? "The script ended." : `The script failed: ${end.why}.`;
    this.#context.emit("chain.ended", said, { engine: driver.name, tool_calls: run.journal.callCount });
    return answer;
  }

  #freeze(halted: Extract<End, { end: "halted" }>["halted"], driver: SandboxDriver): Promise<string> {
    const { frozen, parts } = this.#house;
    const { id, key, authority } = this.#parent;
    const frozenAt = parts.clock.now();
    const { language, source } = this.#script;
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
    const { session } = this.#caller;
    for (const { artifact } of filesOf(end, run.journal)) {
      if (session.pins.includes(artifact)) continue;
      await this.#house.parts.artifacts.pin(artifact);
      session.pin(artifact);
    }
  }

  #failed(message: string, why: "script" | "unsupported" | "crash" = "crash"): ChainAnswer {
    const nothing = { journal: new Journal(0), durationMs: 0, engine: undefined };
    return this.#answer({ end: "failed", why, message }, nothing);
  }

  #answer(end: Parameters<typeof chainAnswer>[0], told: Omit<Told, "inlineBytes">): ChainAnswer {
    return chainAnswer(end, { ...told, inlineBytes: this.#caller.session.limits.maxInlineResultBytes });
  }
}

/** The same build, and an image at all; else the script is replayed over its journal. */
function fits({ name, engine, capabilities }: SandboxDriver, frozen: FrozenScript | undefined): boolean {
  return (
    frozen?.image !== undefined &&
    capabilities.durability === "snapshot" &&
    frozen.header.driver === name &&
    frozen.header.engine === engine
  );
}
