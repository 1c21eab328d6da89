import type {
  CallToolRequest,
  CallToolResult,
  ProgressToken,
  ServerContext,
} from "@modelcontextprotocol/server";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { Clock } from "../../calls/clock.ts";
import { isJsonObject, type JsonObject } from "../../calls/json.ts";
import type { Runtime } from "../../face.ts";
import { answerOf } from "./answer.ts";
import { withBytes } from "./media.ts";
import { targetOf } from "./offer.ts";
import type { Visit } from "./visit.ts";
import type { Windows } from "./windows.ts";

/** A client that listens to progress waits longer than one that does not; most give up after 60 s all the same. */
const listenerWaitMs = 45_000;
const heartbeatMs = 10_000;

export interface CallParts {
  readonly runtime: Runtime;
  readonly windows: Windows;
  readonly clock: Clock;
  readonly approvalWaitMs: number;
}

/** One `tools/call`: through the gates, with nobody kept waiting longer than their client waits. */
export async function callTool(
  request: CallToolRequest,
  context: ServerContext,
  visit: Visit,
  parts: CallParts,
): Promise<CallToolResult> {
  const { name, arguments: given = {} } = request.params;
  const { progressToken, "postern/idempotency-key": key } = context.mcpReq._meta ?? {};
  if (key !== undefined && (typeof key !== "string" || key === "" || key.length > 256)) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      '`_meta["postern/idempotency-key"]` must be a text of 1 to 256 characters.',
    );
  }
  const listener =
    progressToken === undefined ? undefined : new Heartbeat(context, progressToken, parts.clock);
  try {
    const outcome = await parts.windows.use(context.sessionId ?? "", visit.caller, (session) =>
      session.invoke(
        { ...targetOf(parts.runtime, visit, name), arguments: given as JsonObject }, // it was read from JSON
        {
          patience: "wait",
          approvalWaitMs:
            listener === undefined
              ? parts.approvalWaitMs
              : Math.max(listenerWaitMs, parts.approvalWaitMs),
          signal: context.mcpReq.signal,
          ...(typeof key === "string" && { idempotencyKey: key }),
          ...(listener !== undefined && { onProgress: (content) => listener.tell(content) }),
        },
      ),
    );
    const content = await withBytes(
      outcome.content,
      parts.runtime.artifacts,
      visit.caller.principal,
    );
    const answer = answerOf({ ...outcome, content }, name);
    // Before 2026-07-28 structured content is an object; anything else is in the text already.
    const isModern = context.mcpReq.envelope !== undefined;
    if (
      isModern ||
      answer.structuredContent === undefined ||
      isJsonObject(answer.structuredContent)
    )
      return answer;
    const { structuredContent: _, ...plain } = answer;
    return plain;
  } finally {
    listener?.end();
  }
}

/** Progress as it comes, and a sign of life where none comes: clients count the time since the last one. */
class Heartbeat {
  readonly #context: ServerContext;
  readonly #progressToken: ProgressToken;
  readonly #clock: Clock;
  #count = 0;
  #cancelWait: () => void;

  constructor(context: ServerContext, progressToken: ProgressToken, clock: Clock) {
    this.#context = context;
    this.#progressToken = progressToken;
    this.#clock = clock;
    this.#cancelWait = this.#later();
  }

  tell(message: string): void {
    this.#count += 1;
    const params = { progressToken: this.#progressToken, progress: this.#count, message };
    this.#context.mcpReq.notify({ method: "notifications/progress", params }).catch(ignored); // the client has gone; its call goes its own way
    this.#cancelWait();
    this.#cancelWait = this.#later();
  }

  end(): void {
    this.#cancelWait();
  }

  #later(): () => void {
    return this.#clock.in(heartbeatMs, () => this.tell("still waiting"));
  }
}

function ignored(): void {}
