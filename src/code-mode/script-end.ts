/**
 * What becomes of a script: its answer, or the place where it is put away, and what of it stays.
 *
 * Invariant: one that is over leaves nothing open: no request that nobody could use any more, no frozen document, no pin but
 * those of what goes back. One that was cut short keeps all of that: the same call, sent again, goes on by it and repeats
 * nothing. And whichever it is, what is known of its calls is told.
 * Next: run-script.ts (which engines), result.ts (what the answer says), pipeline/settle.ts (what the row becomes).
 */
import { messageOf } from "../core/fault.ts";
import type { SandboxDriver } from "../engines/sandbox.ts";
import { mediaPath } from "../results/media.ts";
import { cutShort, suspended } from "../tools/define.ts";
import type { Suspended } from "../tools/tool.ts";
import { type End, type FailedWhy, type StoppedScript, waitsFor } from "./drive.ts";
import { earlierRows } from "./earlier.ts";
import type { FrozenScript } from "./frozen.ts";
import { Journal, type ScriptFile } from "./journal.ts";
import { chainToolName } from "./names.ts";
import { type ChainAnswer, chainAnswer, filesOf, type ResultParts } from "./result.ts";
import type { ScriptFacts } from "./script-facts.ts";
import type { ScriptRun } from "./script-run.ts";
import { lineOf } from "./trace.ts";

/** Why a script has no end of its own. */
export interface Failing {
  readonly why: FailedWhy;
  readonly message: string;
  /** It may be sent again: nothing is wrong with it, and what it did is on record. */
  readonly again?: boolean;
}

export class ScriptEnd {
  readonly #facts: ScriptFacts;
  /** Of its own time, when it was thawed. */
  readonly #leftMs: number;
  /** What it is known to have done, before an engine tells more. */
  #journal: Journal;

  constructor(facts: ScriptFacts, thawed?: FrozenScript) {
    this.#facts = facts;
    this.#journal = new Journal(facts.house.terms.outputBytes, thawed?.journal);
    const { limits, usedMs } = thawed?.session ?? { limits: { totalTimeoutMs: Number.POSITIVE_INFINITY }, usedMs: 0 };
    this.#leftMs = limits.totalTimeoutMs - usedMs;
  }

  /** An engine took it so far, and could not go on. */
  saw(journal: Journal): void {
    if (journal.callCount >= this.#journal.callCount) this.#journal = journal;
  }

  /** How it came out of an engine, while what it holds is there still. */
  async concluded(end: End, run: ScriptRun, driver: SandboxDriver): Promise<ChainAnswer | Suspended> {
    if (end.end === "cancelled") throw this.#facts.context.signal.reason;
    this.saw(run.journal);
    if (end.end === "halted") return await this.#halted(end.halted, driver);
    if (end.end === "failed" && mayGoOn.has(end.why)) return await this.failed({ ...end, again: true }, driver.name);
    await this.#over();
    return await this.#told(end, { journal: run.journal, durationMs: run.session.usedMs, engine: driver.name });
  }

  /** Stopped before an engine had begun with it. One that no longer has the time to be thawed could only be stopped again. */
  async stopped(found: StoppedScript): Promise<ChainAnswer> {
    if (found.end === "cancelled") throw this.#facts.context.signal.reason;
    return await this.failed({ ...found, again: found.why !== "timeout" || this.#leftMs > longestThawMs });
  }

  async failed({ why, message, again = false }: Failing, engine?: string): Promise<ChainAnswer> {
    const { wentBefore, usedMs, begunAt, house } = this.#facts;
    const journal = await this.#known();
    const isOpen = again && (wentBefore || journal.callCount > 0 || engine !== undefined);
    if (!again) await this.#over();
    const advice = isOpen ? goesOn : again ? nothingRan : "";
    const end = { end: "failed", why, message: `${message}${advice}` } as const;
    const durationMs = usedMs + house.parts.clock.monotonic() - begunAt;
    const answer = await this.#told(end, { journal, durationMs, engine, again });
    return isOpen ? cutShort(answer) : answer;
  }

  /** As an engine or what was put away tells it; or as the ledger does, of one that was cut off since. */
  async #known(): Promise<Journal> {
    const { wentBefore, house, parent } = this.#facts;
    if (!wentBefore) return this.#journal;
    const rows = await earlierRows(parent, 0, house.parts);
    if (rows.size <= this.#journal.callCount) return this.#journal;
    const kept = this.#journal.freeze(this.#journal.mark());
    const journal = new Journal(house.terms.outputBytes, { ...kept, lines: [] });
    for (const [place, { call, outcome, startedAt = 0, endedAt = startedAt }] of rows)
      if (outcome !== undefined && outcome.status !== "pending")
        journal.note(lineOf(call, outcome, { place, durationMs: endedAt - startedAt, callId: call.id }));
    return journal;
  }

  async #halted(halted: Extract<End, { end: "halted" }>["halted"], driver: SandboxDriver): Promise<Suspended> {
    const { approvalId, expiresAt, journal } = halted;
    const reference = await this.#freeze(halted, driver);
    this.#facts.context.emit("chain.frozen", `The script waits for a person (${approvalId}).`, {
      approval_id: approvalId,
    });
    const puts = journal.files.filter(({ put }) => put);
    const files = puts.map(({ artifact, mediaType }, n) => {
      return { path: mediaPath(chainToolName, n, mediaType), mediaType, artifact };
    });
    return suspended({ suspended: reference, approvalId, expiresAt, waitsFor: waitsFor(halted), files });
  }

  #freeze(halted: Extract<End, { end: "halted" }>["halted"], driver: SandboxDriver): Promise<string> {
    const { house, parent, program } = this.#facts;
    const { frozen, parts } = house;
    const { id, key, authority } = parent;
    const frozenAt = parts.clock.now();
    const { language } = program;
    const data = { call_id: id, approval_id: halted.approvalId, engine: driver.name };
    return frozen.put(
      halted,
      { key, driver: driver.name, engine: driver.engine, language, source: this.#facts.sourceDigest, frozenAt },
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

  /** What goes back stays held as a direct result of the caller's session. What is gone meanwhile goes back no more. */
  async #handOn(files: readonly ScriptFile[]): Promise<readonly ScriptFile[]> {
    const { caller, house, parent } = this.#facts;
    const { artifacts, log } = house.parts;
    const handed: ScriptFile[] = [];
    for (const file of files) {
      const { artifact } = file;
      try {
        if (!caller.session.pins.includes(artifact)) await artifacts.pin(artifact);
        caller.session.pin(artifact);
        handed.push(file);
      } catch (error) {
        log(`The artifact \`${artifact}\` of the script \`${parent.id}\` is gone: ${messageOf(error)}.`);
      }
    }
    return handed;
  }

  /** It goes on no more. */
  async #over(): Promise<void> {
    const { house, parent, wentBefore, requests } = this.#facts;
    const { log } = house.parts;
    try {
      if (wentBefore) await house.frozen.forget(parent.key);
      if (!wentBefore && requests.size === 0) return; // nobody was asked about any of its calls
      for (const { state, approvalId } of (await earlierRows(parent, 0, house.parts)).values())
        if (state === "held" && approvalId !== undefined) await this.#withdraw(approvalId);
    } catch (error) {
      log(`The script \`${parent.id}\` is over and left something open: ${messageOf(error)}.`); // its answer is told all the same
    }
  }

  /** A yes could run nothing any more. */
  async #withdraw(approvalId: string): Promise<void> {
    const { approvals } = this.#facts.house.parts;
    const approval = await approvals.get(approvalId);
    if (approval?.state !== "pending" && approval?.state !== "approved") return;
    const reason = "the script that asked is over";
    await approvals.decide(approval, { as: "withdrawn", by: "script", via: "postern", reason });
  }

  async #told(
    end: Extract<End, { end: "done" | "failed" }>,
    told: Omit<ResultParts, "inlineBytes" | "files">,
  ): Promise<ChainAnswer> {
    const { context, caller } = this.#facts;
    const { engine, journal } = told;
    const files = await this.#handOn(filesOf(end, journal));
    const said = end.end === "done" ? "The script ended." : `The script failed: ${end.why}.`;
    context.emit("chain.ended", said, { ...(engine !== undefined && { engine }), tool_calls: journal.callCount });
    return chainAnswer(end, { ...told, files, inlineBytes: caller.session.limits.maxInlineResultBytes });
  }
}

/** Nothing is wrong with a script that was stopped so. */
const mayGoOn: ReadonlySet<FailedWhy> = new Set<FailedWhy>(["closed", "unrecorded"]);

/** What a busy machine needs to let a script go on; less of its time than that is none. */
const longestThawMs = 5_000;
const goesOn = " What it did is on record: send the same call again, it goes on from there and repeats nothing.";
const nothingRan = " Nothing of it was run; it may be sent again.";
