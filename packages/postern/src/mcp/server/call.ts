import {
  type AgentProgress,
  type Clock,
  faultStatus,
  type JsonObject,
  type ProgressCount,
  RuntimeFault,
  type ToolOutcome,
} from "@postern/core";
import type { ClientOfCall } from "../../call/client-of-call.ts";
import { line } from "../../results/describe.ts";
import { readable } from "../../results/readable.ts";
import { type OpenRequest, openRequestOf } from "../../results/render.ts";
import type { CallContext } from "../../runtime/api/api.ts";
import { isMessageId, type MessageId, RpcFault, rpcCodes } from "../protocol/peer.ts";
import { pageOf } from "./answer.ts";
import { answered, toolNameOf } from "./answered.ts";
import { type CallParts, callOptions, sessionOf } from "./call-parts.ts";
import { type OfferTarget, targetOf } from "./offer.ts";
import type { McpRequest } from "./request-source.ts";
import { rungOf } from "./rungs.ts";
import type { ToolCallParts } from "./tasks.ts";

/** A client that reads progress waits longer than others, but most give up after 60 s. */
const listenerWaitMs = 45_000;
const heartbeatMs = 10_000;

/** Runs one `tools/call` through the gates. It answers before the client gives up. */
export async function callTool(request: McpRequest, parts: ToolCallParts, client?: ClientOfCall): Promise<object> {
  const { source, meta } = request;
  const { name, arguments: given } = request.params as { readonly name: string; readonly arguments?: JsonObject }; // checked
  const { runtime, clock, approvalWaitMs, tasks } = parts;
  const { progressToken } = meta;
  const listener = isMessageId(progressToken) ? new Heartbeat(request, progressToken, clock) : undefined;
  const target = targetOf(runtime, source, name);
  const rung = rungOf(request, parts);
  // A tool that can suspend its work (a script) does so when the wait is over.
  const suspends = runtime.tools.offer(target.tool, target.action)?.suspends === true;
  const how = {
    ...callOptions(request, client),
    patience: suspends || rung !== "wait" ? "suspend" : "wait",
    approvalWaitMs: listener === undefined ? approvalWaitMs : Math.max(listenerWaitMs, approvalWaitMs),
    ...(listener !== undefined && { onProgress: (step: AgentProgress) => listener.take(step) }),
  } as const;
  try {
    return await sessionOf(source, parts, async (session) => {
      const waits = rung === "wait" ? how : { ...how, approvalWaitMs: 0 };
      const outcome = await session.invoke({ ...target, arguments: given ?? {} }, waits);
      const open = openRequestOf(outcome);
      if (rung === "task" && (open !== undefined || request.isOld)) return tasks.begin(outcome, target, request, parts);
      const asksToOpen = rung === "page" && open !== undefined && client !== undefined;
      const end = asksToOpen ? await onPage(open, { request, client, target, how, parts }) : outcome;
      return answered(end ?? outcome, target, request, parts);
    });
  } catch (error) {
    throw error instanceof RuntimeFault && faultStatus(error.code) < 500 ? invalidParams(error) : error;
  } finally {
    listener?.end();
  }
}

interface AskedClient {
  readonly request: McpRequest;
  readonly client: ClientOfCall;
  readonly target: OfferTarget;
  readonly how: CallContext;
  readonly parts: CallParts;
}

/**
 * Asks the client to open the page of the request, and waits for the decision. What the client answers changes nothing: it
 * says that a page was opened, not what a person decided there.
 */
async function onPage(
  open: OpenRequest,
  { request, client, target, how, parts }: AskedClient,
): Promise<ToolOutcome | undefined> {
  const { id } = open;
  const { isOld, source } = request;
  const message = `\`${toolNameOf(target, request, parts)}\` needs a person's approval. Open the request in the Postern console and decide there.`;
  const params = {
    ...{ mode: "url", message, url: pageOf(open, parts) ?? "" },
    ...(isOld && { elicitationId: id }),
  };
  const asked = client.ask({ [id]: { method: "elicitation/create", params } }, false).then(
    () => true,
    () => false,
  );
  // Since 2026-07-28 the question is the answer to the request, and the client comes back with another one.
  if (!isOld && !(await asked)) return undefined;
  const { principal } = source.caller;
  const outcome = await parts.runtime.resume(id, { ...how, principal, patience: "wait" });
  if (isOld && outcome !== undefined && openRequestOf(outcome) === undefined)
    client.tell("notifications/elicitation/complete", { elicitationId: id });
  return outcome;
}

export function invalidParams({ code, message }: RuntimeFault): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, message, { code });
}

/** What a message without a number adds to the progress, which must grow. */
const ownStep = 0.001;

/** Reports progress, and a heartbeat when there is none, because clients measure the time since the last report. */
class Heartbeat {
  readonly #request: McpRequest;
  readonly #progressToken: MessageId;
  readonly #clock: Clock;
  #progress = -ownStep;
  #cancelWait: () => void;

  constructor(request: McpRequest, progressToken: MessageId, clock: Clock) {
    this.#request = request;
    this.#progressToken = progressToken;
    this.#clock = clock;
    this.#cancelWait = this.#later();
  }

  /** A line for people. The answer itself holds the result. */
  take({ step, content, count }: AgentProgress): void {
    if (step === "TOOL_CALL") this.#report(`${content} runs`);
    if (step === "TOOL_PROGRESS") this.#report(readable(line(content)), count);
    if (step === "TOOL_COMMENT") this.#report(readable(content));
  }

  /** Sends the tool's own numbers. A number below the last one is of another tool of a script. */
  #report(message: string, count?: ProgressCount): void {
    const own = count !== undefined && count.progress >= this.#progress ? count : undefined;
    this.#progress = own?.progress ?? this.#progress + ownStep;
    const params = {
      ...{ progressToken: this.#progressToken, progress: this.#progress, message },
      ...(own?.total !== undefined && { total: own.total }),
    };
    this.#request.tell("notifications/progress", params);
    this.#cancelWait();
    this.#cancelWait = this.#later();
  }

  end(): void {
    this.#cancelWait();
  }

  #later(): () => void {
    return this.#clock.in(heartbeatMs, () => this.#report("still waiting"));
  }
}
