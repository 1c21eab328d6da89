import type { CallToolResult } from "@modelcontextprotocol/server";
import {
  type AgentProgress,
  type Clock,
  faultStatus,
  isJsonObject,
  type Json,
  type JsonObject,
  type ProgressCount,
  RuntimeFault,
  readArtifactName,
} from "@postern/core";
import type { ClientOfCall } from "../../call/client-of-call.ts";
import { line } from "../../results/describe.ts";
import { readable } from "../../results/readable.ts";
import { isMessageId, type MessageId, RpcFault, rpcCodes } from "../protocol/peer.ts";
import { answerOf, relayedError } from "./answer.ts";
import { type CallParts, callOptions, sessionOf } from "./call-parts.ts";
import { withBytes } from "./media.ts";
import { type OfferTarget, promisesStructure, targetOf } from "./offer.ts";
import { linkHere } from "./relay.ts";
import type { McpRequest } from "./request-source.ts";
import { relayedAt } from "./visible-servers.ts";

/** A client that reads progress waits longer than others, but most give up after 60 s. */
const listenerWaitMs = 45_000;
const heartbeatMs = 10_000;

/** Runs one `tools/call` through the gates. It answers before the client gives up. */
export async function callTool(request: McpRequest, parts: CallParts, client?: ClientOfCall): Promise<CallToolResult> {
  const { source, meta, isOld } = request;
  const { name, arguments: given } = request.params as { readonly name: string; readonly arguments?: JsonObject }; // checked
  const { runtime, clock, approvalWaitMs, console } = parts;
  const { progressToken } = meta;
  const listener = isMessageId(progressToken) ? new Heartbeat(request, progressToken, clock) : undefined;
  const target = targetOf(runtime, source, name);
  const how = {
    ...callOptions(request, client),
    // A tool that can suspend its work (a script) does so when the wait is over.
    patience: runtime.tools.offer(target.tool, target.action)?.suspends === true ? "suspend" : "wait",
    approvalWaitMs: listener === undefined ? approvalWaitMs : Math.max(listenerWaitMs, approvalWaitMs),
    ...(listener !== undefined && { onProgress: (step: AgentProgress) => listener.take(step) }),
  } as const;
  try {
    return await sessionOf(source, parts, async (session) => {
      const outcome = await session.invoke({ ...target, arguments: given ?? {} }, how);
      const relayed = relayedError(outcome);
      if (relayed !== undefined) throw relayed;
      const content = await withBytes(outcome.content, runtime.artifacts, source.caller.principal);
      const promises = promisesStructure(runtime.tools.offer(target.tool, target.action), isOld);
      const readsArtifacts = runtime.tools.has(readArtifactName);
      const answer = linksHere(
        answerOf({ ...outcome, content }, name, { console, readsArtifacts }),
        target,
        request,
        parts,
      );
      return fitted(answer, isOld, promises ? textOf(answer) : undefined);
    });
  } catch (error) {
    throw error instanceof RuntimeFault && faultStatus(error.code) < 500 ? invalidParams(error) : error;
  } finally {
    listener?.end();
  }
}

/** A link to a resource of the tool's server can be read at this endpoint. */
function linksHere(
  answer: CallToolResult,
  { tool, action }: OfferTarget,
  { source }: McpRequest,
  parts: CallParts,
): CallToolResult {
  const { server } = parts.runtime.tools.offer(tool, action)?.facts ?? {};
  const isLinked = answer.content.some(({ type }) => type === "resource_link" || type === "resource");
  if (!isLinked || server === undefined || source.server !== undefined || relayedAt(server, parts.runtime).length === 0)
    return answer;
  const content = answer.content.map((block) => linkHere(block as unknown as Json, server, source)); // plain JSON
  return { ...answer, content: content as unknown as CallToolResult["content"] };
}

function invalidParams({ code, message }: RuntimeFault): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, message, { code });
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
