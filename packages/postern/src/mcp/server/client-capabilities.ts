import { isJsonObject, type JsonObject } from "@postern/core";
import type { ClientOfCall, Named, ResourceListener, ServerQuestion } from "../../call/client-of-call.ts";
import { type PeerRequest, RpcFault, rpcCodes } from "../protocol/peer.ts";
import type { RequestSource } from "./request-source.ts";

/**
 * Checks that a client can be asked.
 *
 * @throws RpcFault -32021 with the capabilities that it lacks
 */
export function checkCanBeAsked(questions: Named<ServerQuestion>, capabilities: JsonObject): void {
  const missing = Object.assign({}, ...Object.values(questions).map((question) => missingFor(question, capabilities)));
  if (Object.keys(missing).length === 0) return;
  const names = Object.keys(missing).join(", ");
  throw new RpcFault(rpcCodes.capabilityMissing, `The call needs a client with these capabilities: ${names}.`, {
    requiredCapabilities: missing,
  });
}

function missingFor({ method, params }: ServerQuestion, capabilities: JsonObject): JsonObject {
  const name = nameOf(method);
  const declared = capabilities[name];
  if (name !== "elicitation") return declared === undefined ? { [name]: {} } : {};
  const mode = params["mode"] === "url" ? "url" : "form";
  // `elicitation: {}` means forms: modes came later.
  const has =
    isJsonObject(declared) && (declared[mode] !== undefined || (mode === "form" && declared["url"] === undefined));
  return has ? {} : { elicitation: { [mode]: {} } };
}

function nameOf(method: string): string {
  return method === "sampling/createMessage" ? "sampling" : method === "roots/list" ? "roots" : "elicitation";
}

/** A client of 2025-11-25: it is asked by a request on the stream of its call. Without a level it is told what is no debugging. */
export function pushingClient(
  { ask, tell, context }: Pick<PeerRequest<RequestSource>, "ask" | "tell" | "context">,
  capabilities: JsonObject,
): ClientOfCall {
  const from = context.session?.logsFrom;
  return {
    capabilities,
    tell,
    logs: { from: from ?? "info", isAsked: from !== undefined },
    ask: async (questions) => {
      checkCanBeAsked(questions, capabilities);
      const answers = Object.entries(questions).map(
        async ([name, { method, params }]) => [name, await ask(method, params)] as const,
      );
      return Object.fromEntries(await Promise.all(answers));
    },
  };
}

/** A client that subscribes. Its call cannot ask it for anything. */
export function followingClient(listener: ResourceListener | undefined): ClientOfCall {
  const ask = (): never => {
    throw new RpcFault(rpcCodes.internal, "A client is asked for nothing while it subscribes.");
  };
  return { capabilities: {}, tell: () => undefined, ask, listener };
}
