import { type Actor, type Clock, defined, messageOf, type Principal, type ToolOutcome } from "@postern/core";
import { Locks } from "@postern/core/system";
import { cut } from "../../results/cut.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import type { RunFolders } from "../../system/run-folders.ts";
import { isSuspended } from "../../tools/define.ts";
import { failureOf } from "../../tools/failure.ts";
import type { Suspended } from "../../tools/tool.ts";
import {
  type Candidate,
  type CandidateStep,
  type DecisionLine,
  readCandidates,
  readDecisions,
  writeDecision,
} from "./candidates.ts";
import { type MemoryCall, type MemoryFor, type MemoryProvider, providerFor, type WrittenMemory } from "./memory.ts";
import { checkedScopes, scopeProblem } from "./scopes.ts";

/** Decisions of one run are made one at a time in this process, also by several services. */
const deciding = new Locks();

/** `unknown`: an acceptance began, and its end is not known. `waiting`: for an approval. */
export type CandidateState = "open" | "accepted" | "rejected" | "waiting" | "unknown";

export interface CandidateRecord extends Candidate {
  readonly state: CandidateState;
  /** The last line about it. */
  readonly decision?: Omit<DecisionLine, "candidateId">;
}

const errorBytes = 2_000;

/** Which candidate, of whose run. */
export interface CandidateName {
  readonly tenant: string;
  readonly runId: string;
  readonly id: string;
}

export interface CandidateRuling {
  readonly by: Actor;
  readonly reason?: string;
  /** Repeats an acceptance whose end is unknown. The person has checked whether the memory exists. */
  readonly again?: boolean;
  readonly signal?: AbortSignal;
  /** Calls a tool for the provider, on the person's behalf and under the given key. */
  readonly call: (request: Parameters<MemoryCall["call"]>[0], key: string) => Promise<ToolOutcome>;
}

export type CandidateDecided =
  | { readonly decided: true; readonly candidate: CandidateRecord }
  | {
      readonly decided: false;
      readonly code: CandidateProblem;
      readonly message: string;
      readonly candidate?: CandidateRecord;
    };

export type CandidateProblem =
  | "candidate_unknown"
  | "candidate_decided"
  | "candidate_unclear"
  | "candidate_waiting"
  | "candidate_refused"
  | "memory_failed";

export interface CandidateServiceOptions {
  readonly provider?: MemoryProvider | MemoryFor;
  readonly scopes?: readonly string[];
  readonly runs: RunFolders;
  readonly clock: Clock;
  readonly redactor?: Pick<Redactor, "redact">;
}

/** An acceptance that runs. Its line `accepting` is written. */
interface StartedAcceptance {
  readonly name: CandidateName;
  readonly record: CandidateRecord;
  readonly ruling: CandidateRuling;
  /** An approver denied a call of the provider. */
  isDenied: boolean;
}

/**
 * Decisions of people on what agents proposed to remember. The file of candidates never changes; each decision is a line
 * in `archive/memory-decisions.jsonl`.
 *
 * Invariant: the provider is called only after the line `accepting` is written, so at most once a candidate: a second
 * acceptance finds that line.
 */
export class CandidateService {
  readonly #options: CandidateServiceOptions;
  readonly #scopes: readonly string[];

  /** @throws RuntimeFault `options_invalid` */
  constructor(options: CandidateServiceOptions) {
    this.#options = options;
    this.#scopes = checkedScopes(options.scopes);
  }

  /** The candidates of one run, in the order they were written. */
  async list(tenant: string, runId: string): Promise<readonly CandidateRecord[]> {
    const folder = this.#options.runs.find(tenant, runId);
    if (folder === undefined) return [];
    const candidates = await readCandidates(folder, tenant, runId);
    if (candidates.length === 0) return [];
    const decisions = await readDecisions(folder);
    return candidates.map((candidate) => recordOf(candidate, decisions.get(candidate.id)));
  }

  reject(name: CandidateName, ruling: Pick<CandidateRuling, "by" | "reason">): Promise<CandidateDecided> {
    return this.#decide(name, async (record) => {
      if (record.state === "accepted" || record.state === "rejected") return alreadyDecided(record);
      return { decided: true, candidate: await this.#write(name, record, { step: "rejected", ...decidedBy(ruling) }) };
    });
  }

  /** Writes it to the provider. After a failure the candidate is open again. */
  accept(name: CandidateName, ruling: CandidateRuling): Promise<CandidateDecided> {
    return this.#decide(name, async (record) => {
      const problem = this.#problem(record, name.tenant, ruling.again === true);
      if (problem !== undefined) return { decided: false, ...problem, candidate: record };
      const attempt = (record.decision?.attempt ?? 0) + (record.state === "waiting" ? 0 : 1);
      const accepting = await this.#write(name, record, { step: "accepting", attempt, ...decidedBy(ruling) });
      const started: StartedAcceptance = { name, record: accepting, ruling, isDenied: false };
      try {
        return await this.#wrote(started, await this.#provide(started));
      } catch (error) {
        return await this.#failed(started, error);
      }
    });
  }

  #decide(
    name: CandidateName,
    rule: (record: CandidateRecord) => Promise<CandidateDecided>,
  ): Promise<CandidateDecided> {
    return deciding.with([JSON.stringify([name.tenant, name.runId])], async () => {
      const record = (await this.list(name.tenant, name.runId)).find(({ id }) => id === name.id);
      if (record !== undefined) return rule(record);
      const message = `There is no memory candidate \`${name.id.slice(0, 100)}\` in the run \`${name.runId}\`.`;
      return { decided: false, code: "candidate_unknown", message };
    });
  }

  #problem(
    record: CandidateRecord,
    tenant: string,
    again: boolean,
  ): { readonly code: CandidateProblem; readonly message: string } | undefined {
    const { id, state, scope } = record;
    if (state === "accepted" || state === "rejected") return alreadyDecided(record);
    if (state === "unknown" && !again) {
      const message = `An acceptance of \`${id}\` began and its end is not known. Look whether the memory is there; then reject it, or accept it with \`again\`.`;
      return { code: "candidate_unclear", message };
    }
    if (this.#options.provider === undefined)
      return { code: "candidate_refused", message: "No memory provider is configured; set `memory.provider`." };
    const problem = scopeProblem(ownerOf(record, tenant), scope, this.#scopes);
    return problem === undefined ? undefined : { code: "candidate_refused", message: `\`${id}\`: ${problem}.` };
  }

  /** The memory belongs to its agent, not to the person who accepted it. */
  async #provide(started: StartedAcceptance): Promise<WrittenMemory | Suspended> {
    const { name, record, ruling } = started;
    const { call, signal } = ruling;
    const { provider } = this.#options;
    if (provider === undefined) return {};
    let position = 0;
    const memoryCall: MemoryCall = {
      principal: ownerOf(record, name.tenant),
      signal: signal ?? new AbortController().signal,
      call: async (request) => {
        position += 1;
        const outcome = await call(request, `memory/${record.id}/${record.decision?.attempt ?? 1}/${position}`);
        if (outcome.refusal?.code === "approval_denied" || outcome.refusal?.code === "approval_skipped")
          started.isDenied = true;
        return outcome;
      },
    };
    return providerFor(provider, memoryCall).write(record.content, record.scope, record.tags);
  }

  async #wrote(
    { name, record, ruling }: StartedAcceptance,
    written: WrittenMemory | Suspended,
  ): Promise<CandidateDecided> {
    if (isSuspended(written)) {
      const { approvalId } = written;
      const candidate = await this.#write(name, record, {
        step: "waiting",
        ...tried(record),
        approvalId,
        ...decidedBy(ruling),
      });
      const message = `The memory's own call waits for an approval (${approvalId}). Decide it, then accept \`${record.id}\` again.`;
      return { decided: false, code: "candidate_waiting", message, candidate };
    }
    const given = written?.id === undefined ? {} : { memoryId: written.id };
    return {
      decided: true,
      candidate: await this.#write(name, record, {
        step: "accepted",
        ...tried(record),
        ...given,
        ...decidedBy(ruling),
      }),
    };
  }

  async #failed({ name, record, ruling, isDenied }: StartedAcceptance, error: unknown): Promise<CandidateDecided> {
    const message = cut(messageOf(error), errorBytes);
    const clean = this.#options.redactor?.redact(message) ?? message;
    if (failureOf(error).unknown) {
      const why = `The memory provider was lost while it wrote \`${record.id}\`: ${clean}. Look whether the memory is there.`;
      return { decided: false, code: "candidate_unclear", message: why, candidate: record };
    }
    const candidate = await this.#write(name, record, {
      step: "failed",
      ...(isDenied ? triedBefore(record) : tried(record)),
      error: clean,
      ...decidedBy(ruling),
    });
    const why = `The memory provider did not take \`${record.id}\`: ${clean}`;
    return { decided: false, code: "memory_failed", message: why, candidate };
  }

  async #write(
    { tenant, runId, id }: CandidateName,
    record: CandidateRecord,
    line: Omit<DecisionLine, "candidateId" | "at">,
  ): Promise<CandidateRecord> {
    const { runs, clock, redactor } = this.#options;
    const { reason } = line;
    const clean = reason === undefined || redactor === undefined ? {} : { reason: redactor.redact(reason) };
    const decision = { candidateId: id, at: clock.now(), ...line, ...clean };
    await writeDecision(runs.open(tenant, runId), decision);
    return recordOf(record, decision);
  }
}

const states: Readonly<Record<CandidateStep, CandidateState>> = {
  accepting: "unknown",
  accepted: "accepted",
  rejected: "rejected",
  waiting: "waiting",
  failed: "open",
};

function recordOf(candidate: Candidate, last: DecisionLine | undefined): CandidateRecord {
  if (last === undefined) return { ...candidate, state: "open" };
  const { candidateId: _, ...decision } = last;
  return { ...candidate, state: states[last.step], decision };
}

function ownerOf({ agent, user }: Candidate, tenant: string): Principal {
  return { tenant, agent, ...defined({ user }) };
}

function decidedBy({
  by,
  reason,
}: Pick<CandidateRuling, "by" | "reason">): Pick<DecisionLine, "by" | "via" | "reason"> {
  return { by: by.by, via: by.via, ...defined({ reason }) };
}

function tried({ decision }: CandidateRecord): Pick<DecisionLine, "attempt"> {
  return decision?.attempt === undefined ? {} : { attempt: decision.attempt };
}

/** The next acceptance has the same key, so it gets the same denial until that expires. */
function triedBefore({ decision }: CandidateRecord): Pick<DecisionLine, "attempt"> {
  return { attempt: (decision?.attempt ?? 1) - 1 };
}

function alreadyDecided(
  candidate: CandidateRecord,
): Extract<CandidateDecided, { decided: false }> & { readonly code: CandidateProblem } {
  const message = `\`${candidate.id}\` is ${candidate.state} already.`;
  return { decided: false, code: "candidate_decided", message, candidate };
}
