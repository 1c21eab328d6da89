import type { CallToolResult } from "@modelcontextprotocol/server";
import {
  type AgentProgress,
  type Clock,
  faultStatus,
  isJsonObject,
  type JsonObject,
  type ProgressCount,
  RuntimeFault,
  readArtifactName,
} from "@postern/core";
import type { ClientOfCall } from "../../call/client-of-call.ts";
import { line } from "../../results/describe.ts";
import { readable } from "../../results/readable.ts";
import type { CallContext, Runtime } from "../../runtime/api/api.ts";
import type { Windows } from "../../runtime/services/windows.ts";
import { isMessageId, type MessageId, RpcFault, rpcCodes } from "../protocol/peer.ts";
import { answerOf, type Places, relayedError } from "./answer.ts";
import { withBytes } from "./media.ts";
import { promisesStructure, targetOf } from "./offer.ts";
import { callerKey, type McpCaller, type McpRequest } from "./request-source.ts";

/** A client that reads progress waits longer than others, but most give up after 60 s. */
const listenerWaitMs = 45_000;
const heartbeatMs = 10_000;

export interface CallParts {
  readonly runtime: Runtime;
  readonly windows: Windows;
  readonly clock: Clock;
  readonly approvalWaitMs: number;
  /** Where people reach the console, once it listens. */
  readonly console: Places["console"];
}

/** Runs one `tools/call` through the gates. It answers before the client gives up. */
export async function callTool(request: McpRequest, parts: CallParts, client?: ClientOfCall): Promise<CallToolResult> {
  const { source, meta, signal, isOld } = request;
  const { name, arguments: given } = request.params as { readonly name: string; readonly arguments?: JsonObject }; // checked
  const { runtime, windows, clock, approvalWaitMs, console } = parts;
  const idempotencyKey = metaText(meta, "postern/idempotency-key", 256);
  const reason = metaText(meta, "postern/reason", 2_000);
  const { progressToken } = meta;
  const listener = isMessageId(progressToken) ? new Heartbeat(request, progressToken, clock) : undefined;
  const target = targetOf(runtime, source, name);
  const how = {
    // A tool that can suspend its work (a script) does so when the wait is over.
    patience: runtime.tools.offer(target.tool, target.action)?.suspends === true ? "suspend" : "wait",
    signal,
    approvalWaitMs: listener === undefined ? approvalWaitMs : Math.max(listenerWaitMs, approvalWaitMs),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(reason !== undefined && { reason }),
    ...(listener !== undefined && { onProgress: (step: AgentProgress) => listener.take(step) }),
    requestMeta: metaForServers(meta),
    ...(client !== undefined && { client }),
  } as const;
  try {
    const budgetKey = `${callerKey(source.caller)}\n${windows.today}`; // another session of the client has the same budget
    return await windows.use(budgetKey, contextOf(source.caller), async (session) => {
      const outcome = await session.invoke({ ...target, arguments: given ?? {} }, how);
      const relayed = relayedError(outcome);
      if (relayed !== undefined) throw relayed;
      const content = await withBytes(outcome.content, runtime.artifacts, source.caller.principal);
      const promises = promisesStructure(runtime.tools.offer(target.tool, target.action), isOld);
      const readsArtifacts = runtime.tools.has(readArtifactName);
      const answer = answerOf({ ...outcome, content }, name, { console, readsArtifacts });
      return fitted(answer, isOld, promises ? textOf(answer) : undefined);
    });
  } catch (error) {
    throw error instanceof RuntimeFault && faultStatus(error.code) < 500 ? invalidParams(error) : error;
  } finally {
    listener?.end();
  }
}

function invalidParams({ code, message }: RuntimeFault): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, message, { code });
}

/** A caller whose rights have changed gets a new session at once. */
function contextOf({ principal, scopes, autonomy }: McpCaller): CallContext {
  return { principal, scopes, ...(autonomy !== undefined && { autonomy }) };
}

/** A text that the caller sends beside the arguments: its idempotency key, or its reason. */
function metaText(meta: JsonObject, name: string, most: number): string | undefined {
  const given = meta[name];
  if (given === undefined || (typeof given === "string" && given !== "" && given.length <= most)) return given;
  throw new RpcFault(rpcCodes.invalidParams, `\`_meta["${name}"]\` must be a text of 1 to ${most} characters.`);
}

/** A trace and the client's own keys. Keys of this connection and of Postern are not for other servers. */
function metaForServers(meta: JsonObject): JsonObject {
  const own = Object.entries(meta).filter(
    ([name]) => name !== "progressToken" && !/^(?:postern|io\.modelcontextprotocol)\//.test(name),
  );
  return Object.fromEntries(own);
}

/**
 * Before 2026-07-28 structured content must be an object. Any other value is in the text too.
 *
 * @param text the result's, when the tool is listed with an output schema: clients then refuse an answer without
 * structured content
 */
function fitted(answer: CallToolResult, isOld: boolean, text: string | undefined): CallToolResult {
  const { structuredContent, ...plain } = answer;
  const isMissing = structuredContent === undefined || (isOld && !isJsonObject(structuredContent));
  if (!isMissing) return answer;
  return text !== undefined && answer.isError !== true ? { ...plain, structuredContent: { text } } : plain;
}

function textOf({ content }: CallToolResult): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
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
