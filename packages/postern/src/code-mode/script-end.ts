/**
 * The end of a script's turn: its answer, or its document in the store while it waits.
 * Invariant: a script that has ended leaves nothing open: no request, no frozen document, and no pin except those of
 * its answer. A script that was interrupted keeps all of them, so the same call, sent again, continues and repeats
 * nothing. The trace has all known calls in either case.
 * Next: run-script.ts (which engines), result.ts (the answer), pipeline/settle.ts (the row).
 */

import { defined, messageOf } from "@postern/core";
import type { SandboxDriver } from "@postern/core/sandbox";
import { mediaPath } from "../results/media.ts";
import { cutShort, suspended } from "../tools/define.ts";
import type { Suspended } from "../tools/tool.ts";
import { waitsFor } from "./drive.ts";
import type { FrozenScript } from "./frozen.ts";
import { Journal, type ScriptFile } from "./journal.ts";
import { chainToolName } from "./names.ts";
import { earlierRows } from "./replay.ts";
import {
  type ChainAnswer,
  chainAnswer,
  type End,
  type FailedWhy,
  filesOf,
  lineOf,
  type ResultParts,
  type StoppedScript,
} from "./result.ts";
import type { ScriptFacts, ScriptRun } from "./script-run.ts";
import { uncalledFunction } from "./source-text.ts";

/** The failure of a script. */
export interface ScriptFailure {
  readonly why: FailedWhy;
  readonly message: string;
  /** The script is correct and its calls are recorded, so it may be sent again. */
  readonly again?: boolean;
}

type FailedEnd = Extract<End, { end: "failed" }>;

export class ScriptEnd {
  readonly #facts: ScriptFacts;
  /** The rest of its time when it was thawed. */
  readonly #leftMs: number;
  /** The known calls of the script. */
  #journal: Journal;

  constructor(facts: ScriptFacts, thawed?: FrozenScript) {
    this.#facts = facts;
    this.#journal = new Journal(facts.host.terms.outputBytes, thawed?.journal);
    const { limits, usedMs } = thawed?.session ?? { limits: { totalTimeoutMs: Number.POSITIVE_INFINITY }, usedMs: 0 };
    this.#leftMs = limits.totalTimeoutMs - usedMs;
  }

  /** An engine reports the script's calls. */
  takeJournal(journal: Journal): void {
    if (journal.callCount >= this.#journal.callCount) this.#journal = journal;
  }

  /** Makes the answer of an end in an engine, while the session and its pins exist. */
  async concluded(end: End, run: ScriptRun, driver: SandboxDriver): Promise<ChainAnswer | Suspended> {
    if (end.end === "cancelled") throw this.#facts.context.signal.reason;
    this.takeJournal(run.journal);
    if (end.end === "halted") return await this.#halted(end.halted, driver);
    if (end.end === "failed" && resendable.has(end.why)) return await this.failed({ ...end, again: true }, driver.name);
    await this.#cleanUp();
    const shown = this.#idle(end, run.journal) ?? end;
    return await this.#answer(shown, { journal: run.journal, durationMs: run.session.usedMs, engine: driver.name });
  }

  /** A script that did nothing at all because it calls none of its functions. */
  #idle(end: Extract<End, { end: "done" | "failed" }>, journal: Journal): FailedEnd | undefined {
    if (end.end !== "done" || (end.value ?? null) !== null || journal.logs !== "") return undefined;
    if (journal.callCount > 0 || journal.budget.used.hostCalls > 0) return undefined;
    const name = uncalledFunction(this.#facts.program);
    if (name === undefined) return undefined;
    const call = this.#facts.program.language === "python" ? `${name}()` : `await ${name}()`;
    const message = `It defines \`${name}\` and never calls it, so nothing ran. End it with \`${call}\`.`;
    return { end: "failed", why: "script", message };
  }

  /** Stopped before an engine had begun with it. It may be sent again if it has enough time left for thawing. */
  async stopped(found: StoppedScript): Promise<ChainAnswer> {
    if (found.end === "cancelled") throw this.#facts.context.signal.reason;
    return await this.failed({ ...found, again: found.why !== "timeout" || this.#leftMs > longestThawMs });
  }

  async failed({ why, message, again = false }: ScriptFailure, engine?: string): Promise<ChainAnswer> {
    const { hasRunBefore, usedMs, begunAt, host } = this.#facts;
    const journal = await this.#known();
    const isOpen = again && (hasRunBefore || journal.callCount > 0 || engine !== undefined);
    if (!again) await this.#cleanUp();
    const advice = isOpen ? resendAdvice : again ? nothingRan : "";
    const end = { end: "failed", why, message: `${message}${advice}` } as const;
    const durationMs = usedMs + host.parts.clock.monotonic() - begunAt;
    const answer = await this.#answer(end, { journal, durationMs, engine, again });
    return isOpen ? cutShort(answer) : answer;
  }

  /** From an engine or the frozen script, or from the ledger if that has more. */
  async #known(): Promise<Journal> {
    const { hasRunBefore, host, parent } = this.#facts;
    if (!hasRunBefore) return this.#journal;
    const rows = await earlierRows(parent, 0, host.parts);
    if (rows.size <= this.#journal.callCount) return this.#journal;
    const journal = new Journal(host.terms.outputBytes, { ...this.#journal.freeze(), lines: [] });
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
    const { host, parent, program } = this.#facts;
    const { frozen, parts } = host;
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

  /** Pins the files of the answer in the caller's session. Files that are gone are left out. */
  async #pinFiles(files: readonly ScriptFile[]): Promise<readonly ScriptFile[]> {
    const { caller, host, parent } = this.#facts;
    const { artifacts, log } = host.parts;
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

  /** Removes what the script left open. */
  async #cleanUp(): Promise<void> {
    const { host, parent, hasRunBefore, requests, timers } = this.#facts;
    const { log } = host.parts;
    try {
      if (hasRunBefore || timers.isStored) await host.frozen.forget(parent.key);
      if (!hasRunBefore && requests.size === 0) return; // none of its calls asked a person
      for (const { state, approvalId } of (await earlierRows(parent, 0, host.parts)).values())
        if (state === "held" && approvalId !== undefined) await this.#withdraw(approvalId);
    } catch (error) {
      log(`The script \`${parent.id}\` has ended and left something open: ${messageOf(error)}.`); // the answer is given anyway
    }
  }

  /** Such an approval could not run anything any more. */
  async #withdraw(approvalId: string): Promise<void> {
    const { approvals } = this.#facts.host.parts;
    const approval = await approvals.get(approvalId);
    if (approval?.state !== "pending" && approval?.state !== "approved") return;
    const reason = "the script that asked is over";
    await approvals.decide(approval, { as: "withdrawn", by: "script", via: "postern", reason });
  }

  async #answer(
    end: Extract<End, { end: "done" | "failed" }>,
    parts: Omit<ResultParts, "inlineBytes" | "files">,
  ): Promise<ChainAnswer> {
    const { context, caller } = this.#facts;
    const { engine, journal } = parts;
    const files = await this.#pinFiles(filesOf(end, journal));
    const summary = end.end === "done" ? "The script ended." : `The script failed: ${end.why}.`;
    context.emit("chain.ended", summary, { ...defined({ engine }), tool_calls: journal.callCount });
    return chainAnswer(end, { ...parts, files, inlineBytes: caller.session.limits.maxInlineResultBytes });
  }
}

/** After these failures the script may be sent again. */
const resendable: ReadonlySet<FailedWhy> = new Set<FailedWhy>(["closed", "unrecorded"]);

/** A busy machine may need this time to thaw a script. */
const longestThawMs = 5_000;
const resendAdvice = " Its calls are recorded: send the same call again. It continues from there and repeats nothing.";
const nothingRan = " Nothing of it was run; it may be sent again.";
