import { isJsonObject, type Json, type JsonObject, messageOf } from "@postern/core";
import type { ClientOfCall, Named, ServerQuestion } from "../../call/client-of-call.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";

/** What a server may ask the client of a call: an answer of a person, of the client's model, or which folders it works in. */
export const askable = ["elicitation", "sampling", "roots"] as const;
export type Askable = (typeof askable)[number];

const kindOfMethod: ReadonlyMap<string, Askable> = new Map([
  ["elicitation/create", "elicitation"],
  ["sampling/createMessage", "sampling"],
  ["roots/list", "roots"],
]);

/** What Postern states to a server as its own capabilities: those of the client that the server may ask for. */
export function capabilitiesFor(mayAsk: readonly Askable[], client: JsonObject): JsonObject {
  return Object.fromEntries(
    mayAsk.flatMap((kind): readonly [string, Json][] => (client[kind] === undefined ? [] : [[kind, client[kind]]])),
  );
}

/** What a server of 2025 is told once, before it is known which clients will call it. */
export const everyCapability: JsonObject = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

export interface QuestionOptions {
  readonly mayAsk: readonly Askable[];
  /** The server's name in the configuration. */
  readonly server: string;
  readonly client: ClientOfCall | undefined;
  readonly hasBegun: boolean;
}

/**
 * Asks the client of a call.
 *
 * @throws RpcFault when the server may not ask this, or the caller is no client that can be asked
 */
export async function answersTo(
  questions: Named<ServerQuestion>,
  { mayAsk, server, client, hasBegun }: QuestionOptions,
): Promise<Named<JsonObject>> {
  for (const { method } of Object.values(questions)) {
    const kind = kindOfMethod.get(method);
    if (kind === undefined)
      throw new RpcFault(rpcCodes.methodNotFound, `Postern does not pass on \`${method.slice(0, 100)}\`.`);
    if (!mayAsk.includes(kind))
      throw new RpcFault(
        rpcCodes.methodNotFound,
        `Server \`${server}\` may not ask for ${kind}. The operator allows it with \`servers.${server}.may_ask\`.`,
      );
  }
  if (client === undefined)
    throw new RpcFault(
      rpcCodes.internal,
      "No client is known that can be asked: the caller is none, or several calls run and the question came outside of their streams.",
    );
  return client.ask(questions, hasBegun);
}

/**
 * The questions in a result of type `input_required`.
 *
 * @throws Error if they cannot be read
 */
export function questionsIn({ inputRequests = {} }: JsonObject): Named<ServerQuestion> {
  const read = isJsonObject(inputRequests) ? Object.entries(inputRequests) : undefined;
  if (read === undefined) throw new Error("its `inputRequests` is no object");
  return Object.fromEntries(
    read.map(([name, question]) => {
      const { method, params } = isJsonObject(question) ? question : ({} as JsonObject);
      if (typeof method !== "string") throw new Error(`its input request \`${name.slice(0, 60)}\` has no \`method\``);
      return [name, { method, params: isJsonObject(params) ? params : {} }];
    }),
  );
}

export interface QuestionedCall {
  readonly server: string;
  readonly tool: string;
  /** Of the call. */
  readonly key: string;
}

export interface ClientRecord {
  readonly note: (type: string, summary: string, data: JsonObject) => Promise<void>;
  /** Masks secrets of the server in what it tells. */
  readonly redact: (params: JsonObject) => JsonObject;
}

/** The same client. What it is asked, and that it answered, is recorded; what it answered is not. */
export function recordedClient(
  client: ClientOfCall,
  call: QuestionedCall,
  { note, redact }: ClientRecord,
): ClientOfCall {
  const { server, tool } = call;
  return {
    ...client,
    tell: (method, params) => client.tell(method, redact(params)),
    ask: async (questions, hasBegun) => {
      const asked = Object.entries(questions).map(([name, { method, params }]) => {
        const { message } = params;
        return { name, method, ...(typeof message === "string" && { message: message.slice(0, mostShown) }) };
      });
      await note("mcp.asked", `Server \`${server}\` asks the client of \`${tool}\`.`, { ...call, questions: asked });
      const answered = async (answers: Json): Promise<void> =>
        note("mcp.answered", `The client of \`${tool}\` has answered \`${server}\`.`, { ...call, answers });
      try {
        const answers = await client.ask(questions, hasBegun);
        await answered(Object.entries(answers).map(([name, { action = "answered" }]) => ({ name, action })));
        return answers;
      } catch (error) {
        await answered([{ problem: messageOf(error) }]);
        throw error;
      }
    },
  };
}

const mostShown = 500;
