/**
 * Calls as tasks: a call that waits for a person is answered with a task, which the client polls. Revision 2025-11-25 has
 * tasks in its core, 2026-07-28 has them as an extension; a task is the same in both.
 *
 * The task is the stored call, and its id is that of the request for approval, so any process finds it after a restart. An
 * approved call runs when its client asks for the task, or while it waits for the result: nothing runs for a client that
 * is gone.
 *
 * Invariant: a task answers only the caller whose call it is; for others it does not exist.
 * Next: task-state.ts (what a task is now).
 */
import { type Clock, type JsonObject, messageOf, refusal, refusedOutcome, type ToolOutcome } from "@postern/core";
import { openRequestOf } from "../../results/render.ts";
import type { ProcessMessages } from "../../store/process-messages.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { answered, toolNameOf } from "./answered.ts";
import type { CallParts } from "./call-parts.ts";
import type { OfferTarget } from "./offer.ts";
import { type McpRequest, ofLargestOwner, ownerOf } from "./request-source.ts";
import { declaresTasks, tasksExtension } from "./rungs.ts";
import {
  askedBy,
  pollMs,
  type StoredTask,
  shortened,
  storedState,
  storedTask,
  suspendedState,
  type TaskNow,
  taskOf,
  wireOf,
} from "./task-state.ts";

/** How often `tasks/result` looks at a call that another process runs. */
const lookMs = 1_000;
/** Ended tasks whose outcome is in no row: a call that was answered at once, or refused after the approval. */
const mostEnded = 1_000;
const endedMs = 600_000;

const cancelSubject = "mcp.cancel_task";

/** What a `tools/call` is answered with. */
export interface ToolCallParts extends CallParts {
  readonly tasks: CallTasks;
}

/** The run of an approved call, which no request of the client waits for. */
interface TaskRun {
  readonly ended: Promise<void>;
  readonly leave: AbortController;
}

interface EndedTask {
  readonly task: TaskNow;
  readonly owner: string;
}

export class CallTasks {
  readonly #clock: Clock;
  readonly #runs = new Map<string, TaskRun>();
  readonly #ended = new Map<string, EndedTask>();
  readonly #processes: ProcessMessages | undefined;

  constructor(clock: Clock, processes?: ProcessMessages) {
    this.#clock = clock;
    this.#processes = processes;
    processes?.handle(cancelSubject, async (id) => ({ cancelled: await this.#stop(String(id)) }));
  }

  /** The answer to a `tools/call` whose outcome waits for a person, or whose request asked for a task. */
  async begin(outcome: ToolOutcome, target: OfferTarget, request: McpRequest, parts: CallParts): Promise<object> {
    const open = openRequestOf(outcome);
    if (open === undefined) {
      const task = this.#endedNow(outcome, target);
      this.#end(task, request);
      return { task: wireOf({ ...task, status: "working" }, true) }; // every task begins so
    }
    const task = await this.#task(open.id, request, parts);
    if (!request.isOld) return { resultType: "task", ...wireOf(task, false) };
    const answer = await answered(outcome, target, request, parts);
    const [first] = answer.content;
    const said = first?.type === "text" ? { [immediateKey]: first.text } : {};
    return { task: wireOf(task, true), _meta: said };
  }

  /** `tasks/get`: the task as it is now. An approved call begins to run. */
  async get(request: McpRequest, parts: CallParts): Promise<object> {
    const task = await this.#task(idIn(request), request, parts);
    const { isOld } = request;
    if (isOld || task.status !== "completed") return wireOf(task, isOld);
    return resultOf(task, request, parts).then(
      (result) => ({ ...wireOf(task, false), result: { resultType: "complete", ...result } }),
      (error: unknown) => ({ ...wireOf(task, false), status: "failed", error: errorIn(error) }),
    );
  }

  /** `tasks/result` of 2025-11-25: waits until the task has ended. A client that leaves ends its wait, not the task. */
  async result(request: McpRequest, parts: CallParts): Promise<object> {
    const id = idIn(request);
    for (let run: TaskRun | undefined; ; ) {
      const task = await this.#task(id, request, parts);
      if (task.status !== "working") {
        const result = await resultOf(task, request, parts);
        return { ...result, _meta: { ...result._meta, [relatedKey]: { taskId: id } } };
      }
      const approval = await parts.runtime.approvals.get(id);
      const hadRun = run !== undefined; // it ended, and the task did not: another process has the call
      run = approval?.state === "pending" ? this.#run(id, "wait", request, parts) : this.#runs.get(id);
      await this.#until(hadRun ? undefined : run?.ended, request.signal);
    }
  }

  /** `tasks/update` of 2026-07-28. Postern asks nothing through a task, so no answer is outstanding. */
  async update(request: McpRequest, parts: CallParts): Promise<object> {
    await this.#task(idIn(request), request, parts, "looks");
    return {};
  }

  /** `tasks/cancel`: withdraws the request for approval, or cancels the run. */
  async cancel(request: McpRequest, parts: CallParts): Promise<object> {
    const id = idIn(request);
    const { isOld, source } = request;
    const task = await this.#task(id, request, parts, "looks");
    if (task.status !== "working") {
      if (isOld) throw invalid(`The task \`${id}\` is ${task.status} already; it cannot be cancelled.`);
      return {};
    }
    const { agent, tenant, via } = source.caller.principal;
    const by = { user: agent, tenant, ...(via !== undefined && { via }) };
    const before = await storedTask(id, request, parts);
    const isStopped = (await this.#stop(id)) || (await this.#stopElsewhere(before, request));
    const stored = await storedTask(id, request, parts);
    const asked = stored === undefined ? [] : await askedBy(stored, parts);
    const answers = await Promise.all(asked.map((one) => parts.runtime.approvals.withdraw(one, by, whyCancelled)));
    if (!isStopped && isOld && !answers.some(({ decided }) => decided))
      throw invalid(`The call of the task \`${id}\` is not run by this client; it goes on.`);
    return isOld ? wireOf(await this.#task(id, request, parts, "looks"), true) : {};
  }

  /** Resolves to whether this process ran it, when the run has ended. */
  async #stop(id: string): Promise<boolean> {
    const run = this.#runs.get(id);
    run?.leave.abort(new Error(whyCancelled));
    await run?.ended;
    return run !== undefined;
  }

  /** The same for the process that has claimed the call. */
  async #stopElsewhere(stored: StoredTask | undefined, { signal }: McpRequest): Promise<boolean> {
    const { state, fence } = stored?.row ?? {};
    if (stored === undefined || state !== "attempted" || fence === undefined) return false;
    if (this.#processes === undefined || fence === this.#processes.self) return false;
    const answer = await this.#processes.ask(fence, cancelSubject, stored.approval.id, signal);
    return answer?.["cancelled"] === true;
  }

  /** @param how `looks`: an approved call is left as it is */
  async #task(
    id: string,
    request: McpRequest,
    parts: CallParts,
    how: "goes on" | "looks" = "goes on",
  ): Promise<TaskNow> {
    const ended = this.#ended.get(id);
    if (ended?.owner === ownerOf(request.source)) return ended.task;
    const stored = await storedTask(id, request, parts);
    if (stored === undefined) throw invalid(`There is no task \`${id.slice(0, 100).toWellFormed()}\` of yours here.`);
    const { approval, row } = stored;
    const told = storedState(stored, request, parts);
    if (told !== undefined) return told;
    const waits = row.state === "suspended" ? await suspendedState(stored, parts) : undefined;
    if (waits !== undefined) return waits;
    if (how === "goes on" && row.state !== "attempted" && row.state !== "queued")
      this.#run(approval.id, "suspend", request, parts);
    return taskOf(stored, "working", `\`${toolNameOf(row.call, request, parts)}\` runs.`, pollMs.runs);
  }

  /** Lets the call go on, once at a time. Its outcome is in its row, or is kept here if the call has not run. */
  #run(id: string, patience: "wait" | "suspend", request: McpRequest, parts: CallParts): TaskRun {
    const running = this.#runs.get(id);
    if (running !== undefined) return running;
    const leave = new AbortController();
    const { principal } = request.source.caller;
    const waits = patience === "wait" ? {} : { approvalWaitMs: 0 }; // a script suspends its work at once
    const how = { principal, patience, ...waits, signal: leave.signal };
    const keep = async (outcome: ToolOutcome | undefined, isCancelled = false): Promise<void> => {
      const stored = await storedTask(id, request, parts);
      if (outcome === undefined || stored === undefined || openRequestOf(outcome) !== undefined) return;
      if (stored.approval.state === "pending") return; // it tells what the task is
      const isElsewhere = outcome.refusal?.code === "in_progress" || stored.row.state === "suspended";
      if (isElsewhere || (!isCancelled && storedState(stored, request, parts)?.outcome !== undefined)) return;
      const status = isCancelled ? "cancelled" : "completed";
      this.#end({ ...taskOf(stored, status, outcome.text, pollMs.runs), outcome }, request);
    };
    const ended = parts.runtime
      .resume(id, how)
      .then((outcome) => keep(outcome, leave.signal.aborted && outcome?.status !== "ok"))
      .catch((error: unknown) =>
        leave.signal.aborted
          ? keep(refusedOutcome(id, "error", refusal("cancelled", messageOf(error))), true)
          : undefined,
      )
      .catch(() => {}) // the store failed: the next poll finds out
      .finally(() => this.#runs.delete(id));
    const run = { ended, leave };
    this.#runs.set(id, run);
    return run;
  }

  #end(task: TaskNow, { source }: McpRequest): void {
    const now = this.#clock.now();
    for (const [id, { task: old }] of this.#ended) if (old.updatedAt + endedMs <= now) this.#ended.delete(id);
    if (this.#ended.size >= mostEnded) {
      const [oldest] = ofLargestOwner(this.#ended.values());
      if (oldest !== undefined) this.#ended.delete(oldest.task.id);
    }
    this.#ended.set(task.id, { task, owner: ownerOf(source) });
  }

  /** A call that needed no approval: it has ended by now, and its answer is kept for the client to fetch. */
  #endedNow(outcome: ToolOutcome, target: OfferTarget): TaskNow {
    const now = this.#clock.now();
    const times = { createdAt: now, updatedAt: now, ttlMs: endedMs, pollMs: pollMs.runs };
    return { id: outcome.callId, status: "completed", message: shortened(outcome.text), target, outcome, ...times };
  }

  /** Waits for the run, or a moment if another process runs the call. */
  async #until(ended: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise: gone, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(signal.reason);
    const { promise: looked, resolve } = Promise.withResolvers<void>();
    const cancel = ended === undefined ? this.#clock.in(lookMs, resolve) : undefined;
    signal.addEventListener("abort", leave, { once: true });
    try {
      await Promise.race([ended ?? looked, gone]);
    } finally {
      cancel?.();
      signal.removeEventListener("abort", leave);
    }
  }
}

const whyCancelled = "The client cancelled the task.";
const immediateKey = "io.modelcontextprotocol/model-immediate-response";
const relatedKey = "io.modelcontextprotocol/related-task";

/** @throws RpcFault -32021 for a client of 2026-07-28 that does not declare the extension */
function idIn({ isOld, capabilities, params }: McpRequest): string {
  if (!isOld && !declaresTasks(capabilities))
    throw new RpcFault(rpcCodes.capabilityMissing, `Tasks need a client with the extension \`${tasksExtension}\`.`, {
      requiredCapabilities: { extensions: { [tasksExtension]: {} } },
    });
  return String(params["taskId"]); // checked
}

function resultOf({ outcome, target, message }: TaskNow, request: McpRequest, parts: CallParts) {
  if (outcome === undefined) throw new RpcFault(rpcCodes.internal, message);
  return answered(outcome, target, request, parts);
}

function errorIn(error: unknown): JsonObject {
  if (!(error instanceof RpcFault)) throw error;
  const { code, message, data } = error;
  return { code, message, ...(data !== undefined && { data }) };
}

function invalid(message: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, message);
}
