import { isJsonObject, type JsonObject } from "@postern/core";
import type { ClientOfCall, Named, ServerQuestion } from "../../call/client-of-call.ts";
import { type PeerRequest, RpcFault, rpcCodes } from "../protocol/peer.ts";

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

/** A client of 2025-11-25: it is asked by a request on the stream of its call. */
export function pushingClient(
  { ask, tell }: Pick<PeerRequest<unknown>, "ask" | "tell">,
  capabilities: JsonObject,
): ClientOfCall {
  return {
    capabilities,
    tell,
    ask: async (questions) => {
      checkCanBeAsked(questions, capabilities);
      const answers = Object.entries(questions).map(
        async ([name, { method, params }]) => [name, await ask(method, params)] as const,
      );
      return Object.fromEntries(await Promise.all(answers));
    },
  };
}
