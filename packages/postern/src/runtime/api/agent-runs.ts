import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type AgentRunId,
  type AgentRuns,
  type Clock,
  isJsonObject,
  type Json,
  type JsonObject,
  type NotedEvent,
  newTraceId,
} from "@postern/core";
import { Sweeper } from "../../results/sweeper.ts";
import { redactJson } from "../../secrets/redact-json.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import type { Store } from "../../store/store.ts";

const kind = "agent_run";
/** Longer than an approval request stays open, so no run that waits for a person is deleted. */
const keptMs = 90 * 86_400_000;
/** Documents that one sweep reads. A large store is read in several sweeps, because each document may be a megabyte. */
const readASweep = 200;

export interface AgentRunsOptions {
  readonly store: Pick<Store, "commit" | "documents">;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly policy: { readonly version: string };
  readonly log: (problem: string) => void;
}

/** A state as it is stored. It has its own version: a run that was deleted begins again at 0, its document does not. */
interface StoredRun {
  readonly at: number;
  readonly version: number;
  readonly state: Json;
}

interface Found {
  readonly documentVersion: number;
  readonly run: StoredRun | undefined;
}

type Change = "saved" | "deleted" | "expired";

/** Agent runs as documents of the store. Each write has an event in the audit log. An old run is deleted. */
export class StoredAgentRuns implements AgentRuns, AsyncDisposable {
  readonly #options: AgentRunsOptions;
  readonly #sweeper: Sweeper;
  /** Documents before this one were read by earlier sweeps. */
  #nextRead: number | undefined;

  constructor(options: AgentRunsOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#sweeper = new Sweeper({ sweep: () => this.#sweep(), what: "Agent runs", clock, log });
  }

  async load(run: AgentRunId): ReturnType<AgentRuns["load"]> {
    const found = (await this.#find(idOf(run))).run;
    return found && { version: found.version, state: found.state };
  }

  async save(run: AgentRunId, state: Json, expected: number): Promise<boolean> {
    const id = idOf(run);
    const { documentVersion, run: before } = await this.#find(id);
    if ((before?.version ?? 0) !== expected) return false;
    const stored = {
      at: this.#options.clock.now(),
      version: expected + 1,
      state: redactJson(state, this.#options.redactor),
    };
    const facts = { version: stored.version, bytes: Buffer.byteLength(JSON.stringify(stored.state)) };
    return this.#write(id, documentVersion, { ...stored }, this.#event("saved", run, facts));
  }

  async remove(run: AgentRunId): Promise<boolean> {
    const id = idOf(run);
    for (;;) {
      const { documentVersion, run: found } = await this.#find(id);
      if (found === undefined) return false;
      if (await this.#write(id, documentVersion, null, this.#event("deleted", run, { version: found.version })))
        return true;
    }
  }

  async list(principal: AgentRunId["principal"]): Promise<readonly string[]> {
    const ids = await this.#options.store.documents.list(kind, startOf(principal));
    return ids.map((id) => runOf(id).runId);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#sweeper[Symbol.asyncDispose]();
  }

  async #find(id: string): Promise<Found> {
    const found = await this.#options.store.documents.get(kind, id);
    return { documentVersion: found?.version ?? 0, run: storedIn(found?.body) };
  }

  async #write(id: string, expectedVersion: number, body: Json, event: NotedEvent): Promise<boolean> {
    const write = { write: "document", kind, id, body, expectedVersion, event } as const;
    return (await this.#options.store.commit(write, "synced")).won;
  }

  async #sweep(): Promise<void> {
    const ids = await this.#options.store.documents.list(kind, "");
    // The first sweep begins anywhere, so that a process that restarts often reaches every document.
    const from = this.#nextRead ?? Math.floor(Math.random() * ids.length);
    const read = [...ids.slice(from), ...ids.slice(0, from)].slice(0, readASweep);
    this.#nextRead = ids.length === 0 ? 0 : (from + read.length) % ids.length;
    for (const id of read) {
      await nextTurn();
      await this.#expire(id);
    }
  }

  async #expire(id: string): Promise<void> {
    const { documentVersion, run } = await this.#find(id);
    if (run === undefined || run.at + keptMs > this.#options.clock.now()) return;
    await this.#write(id, documentVersion, null, this.#event("expired", runOf(id), { version: run.version }));
  }

  #event(act: Change, { principal, runId }: AgentRunId, facts: JsonObject): NotedEvent {
    return {
      moment: "noted",
      at: this.#options.clock.now(),
      type: `agent_run.${act}`,
      summary: `The agent run ${runId} of ${principal.agent} was ${act}.`,
      traceId: newTraceId(),
      tenant: principal.tenant,
      principal,
      policyVersion: this.#options.policy.version,
      outcome: "success",
      data: { agent_run: runId, ...facts },
    };
  }
}

function storedIn(body: Json | undefined): StoredRun | undefined {
  if (!isJsonObject(body)) return undefined;
  const { at, version, state } = body;
  if (typeof at !== "number" || typeof version !== "number" || state === undefined) return undefined;
  return { at, version, state };
}

/** JSON, so that two names never give one id. */
function idOf({ principal, runId }: AgentRunId): string {
  return `${startOf(principal)}${JSON.stringify(runId)}`;
}

function startOf({ tenant, agent, user }: AgentRunId["principal"]): string {
  return `${JSON.stringify([tenant, agent, user ?? null])} `;
}

/** A quote within a name is escaped, so the first `] "` ends the principal. */
function runOf(id: string): AgentRunId {
  const end = id.indexOf('] "') + 1;
  const [tenant, agent, user] = JSON.parse(id.slice(0, end)) as [string, string, string | null]; // `idOf` writes it so
  const runId = JSON.parse(id.slice(end)) as string; // the same
  return { principal: { tenant, agent, ...(user !== null && { user }) }, runId };
}
