/** A store that keeps every row as JSON text under a key, written only with what a stranger can import. */
import type { ApprovalRecord, CallRecord } from "@postern/core";
import { createRuntime, defineTool } from "postern";
import {
  answering,
  artifactDigestsIn,
  audienceKey,
  callStateAt,
  Followers,
  leftUnknownBy,
  mayRunWith,
  type NewDocument,
  needsArtifacts,
  placeIn,
  type Rows,
  rule,
  type Store,
  type StoreContext,
  type StoreEntry,
  secondEventOf,
  stateAt,
  urgencyOf,
  type WaitingFilter,
} from "postern/stores";
import { storeContract } from "postern/testing";
import { expect, it } from "vitest";

/** The rows of one kind, as text. A database has the same verbs. */
class Table<Row> {
  readonly #texts = new Map<string, string>();

  get(key: string): Row | undefined {
    const text = this.#texts.get(key);
    return text === undefined ? undefined : JSON.parse(text);
  }

  put(key: string, row: Row): void {
    this.#texts.set(key, JSON.stringify(row));
  }

  get all(): readonly Row[] {
    return Array.from(this.#texts.values(), (text) => JSON.parse(text));
  }
}

class TextStore implements Store {
  readonly incarnation = crypto.randomUUID();
  readonly lost = 0;
  broken: Error | undefined;
  readonly #calls = new Table<CallRecord>();
  readonly #approvals = new Table<ApprovalRecord>();
  readonly #documents = new Map<string, Table<NewDocument>>();
  readonly #entries: StoreEntry[] = [];
  readonly #followers: Followers;
  readonly #context: StoreContext;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#followers = new Followers(context.log);
  }

  get #now(): number {
    return this.#context.clock.now();
  }

  readonly #rows: Rows = {
    incarnation: this.incarnation,
    now: () => this.#now,
    call: (key) => this.#calls.get(key),
    approval: (id) => this.#approvals.get(id),
    version: (kind, id) => this.#documents.get(kind)?.get(id)?.version ?? 0,
    answering: (call) => {
      const equal = this.#calls.all.filter(({ match }) => match === call.match);
      return answering(call, equal, { now: this.#now, approval: (id) => this.#approvals.get(id) });
    },
  };

  commit: Store["commit"] = async (write) => {
    if (this.broken !== undefined) throw this.broken;
    const ruling = rule(write, this.#rows);
    if (!ruling.won) return ruling;
    const events = [write.event, secondEventOf(write)].filter((event) => event !== undefined);
    const bodies = events.map((event) => this.#context.serialize(event)); // may throw: nothing is written yet
    const { call, approval, document } = ruling;
    if (call !== undefined) this.#calls.put(call.key, call);
    if (approval !== undefined) this.#approvals.put(approval.id, approval);
    if (document !== undefined) {
      const table = this.#documents.get(document.kind) ?? new Table();
      this.#documents.set(document.kind, table);
      table.put(document.id, document);
    }
    const entries = events.map((event, at) => ({ seq: this.#entries.length + at, body: bodies[at] ?? "", event }));
    this.#entries.push(...entries.map(({ seq, body }) => ({ seq, body })));
    const { writeId } = write;
    const [first, ...others] = entries;
    if (first !== undefined) this.#followers.notify([writeId === undefined ? first : { ...first, writeId }, ...others]);
    return { won: true };
  };

  call: Store["call"] = async (by) => {
    if ("match" in by) return this.#rows.answering(by);
    const isNamed = (row: CallRecord): boolean => row.call.id === by.key || leftUnknownBy(row) === by.key;
    return this.#calls.get(by.key) ?? this.#calls.all.find(isNamed);
  };

  approval: Store["approval"] = async (id) => this.#approvals.get(id);

  calls: Store["calls"] = async ({ state, tool, tenant, runId, parentId, before, limit = Infinity }) =>
    this.#calls.all
      .filter((row) => state === undefined || callStateAt(row, this.#now) === state)
      .filter(({ call }) => tool === undefined || call.tool === tool)
      .filter(({ call }) => tenant === undefined || call.authority.principal.tenant === tenant)
      .filter(({ call }) => runId === undefined || call.authority.runId === runId)
      .filter(({ call }) => parentId === undefined || call.parentId === parentId)
      .filter(({ call }) => before === undefined || call.id < before)
      .sort((one, other) => (one.call.id < other.call.id ? 1 : -1))
      .slice(0, limit);

  approvals: Store["approvals"] = async (where) => {
    const { state, risk, after, audiences, limit = Infinity } = where;
    const isUrgent = state === "pending";
    const all = this.#approvals.all.slice();
    if (state === "decided") all.reverse();
    if (isUrgent) all.sort((one, other) => urgencyOf(one) - urgencyOf(other));
    const place = after === undefined ? undefined : placeIn(after);
    const at = all.findIndex(({ id }) => id === place?.id);
    const stored = this.#approvals.all.map(({ id }) => id);
    const isBehind = (approval: ApprovalRecord, i: number): boolean => {
      if (after === undefined) return true;
      if (at < 0) return false;
      if (!isUrgent || place?.urgency === undefined) return i > at;
      const urgency = urgencyOf(approval);
      if (urgency !== place.urgency) return urgency > place.urgency;
      return stored.indexOf(approval.id) > stored.indexOf(place.id);
    };
    const stateOf = (approval: ApprovalRecord) => (isUrgent ? approval.state : stateAt(approval, this.#now));
    return all
      .filter(isBehind)
      .filter(
        (one) => state === undefined || (state === "decided" ? stateOf(one) !== "pending" : stateOf(one) === state),
      )
      .filter((one) => (risk === undefined || one.risk === risk) && fits(one, where))
      .filter((one) => audiences === undefined || audiences.includes(audienceKey(one)))
      .slice(0, limit);
  };

  audiences: Store["audiences"] = async (where) => {
    const pending = this.#approvals.all.filter((one) => one.state === "pending" && fits(one, where));
    const groups = Map.groupBy(pending, audienceKey);
    const waiting = (group: readonly ApprovalRecord[]): number =>
      group.filter(({ expiresAt }) => expiresAt > this.#now).length;
    return [...groups].flatMap(([key, group]) =>
      group.slice(0, 1).map((audience) => ({ key, audience, waiting: waiting(group) })),
    );
  };

  stranded: Store["stranded"] = async () => [];

  needed: Store["needed"] = async () => {
    const calls = this.#calls.all.filter((row) => needsArtifacts(row, this.#now));
    const approvals = this.#approvals.all.filter((one) => mayRunWith(one, this.#now));
    const texts = calls.flatMap(({ call, outcome = null }) => [call.text, JSON.stringify(outcome)]);
    return new Set([...texts, ...approvals.map((one) => JSON.stringify(one))].flatMap(artifactDigestsIn));
  };

  async *events({ after, limit = Infinity }: Parameters<Store["events"]>[0]): AsyncGenerator<StoreEntry> {
    for (let seq = after + 1, left = limit; seq < this.#entries.length && left > 0; seq += 1, left -= 1) {
      const entry = this.#entries[seq];
      if (entry !== undefined) yield entry;
    }
  }

  follow: Store["follow"] = (listener) => this.#followers.add(listener);
  async flush(): Promise<void> {}

  readonly documents: Store["documents"] = {
    get: async (kind, id) => {
      const found = this.#documents.get(kind)?.get(id);
      return found && { version: found.version, body: found.body };
    },
    list: async (kind, prefix) =>
      (this.#documents.get(kind)?.all ?? [])
        .filter(({ id, body }) => id.startsWith(prefix) && body !== null)
        .map(({ id }) => id)
        .sort(),
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.broken ??= Object.assign(new Error("The store is closed."), { code: "runtime_closed" });
  }
}

function fits(approval: ApprovalRecord, { tenant, tool, runId, agent, principal }: WaitingFilter): boolean {
  const { principal: own } = approval;
  return (
    (tenant === undefined || own.tenant === tenant) &&
    (agent === undefined || own.agent === agent) &&
    (tool === undefined || approval.tool === tool) &&
    (runId === undefined || approval.runId === runId) &&
    (principal === undefined ||
      (own.tenant === principal.tenant && own.agent === principal.agent && own.user === principal.user))
  );
}

storeContract("a stranger's store of texts", (context) => new TextStore(context));

it("holds a call, has it approved, and runs it once", async () => {
  const sent: unknown[] = [];
  const send = defineTool({
    ...({ name: "send", description: "Sends.", risk: "high", effects: "write", idempotent: false } as const),
    inputSchema: { type: "object" },
    execute: (given) => void sent.push(given),
  });
  await using runtime = await createRuntime({
    tools: [send],
    store: (context) => new TextStore(context),
    approvals: { patience: "suspend" },
  });
  const call = { tool: "send", arguments: { to: "ada" } };
  expect((await runtime.invoke(call)).status).toBe("pending");
  const [request] = await runtime.approvals.list({ state: "pending" });
  await runtime.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  expect((await runtime.invoke(call)).status).toBe("ok");
  await runtime.invoke(call);
  expect(sent).toEqual([{ to: "ada" }]);
});
