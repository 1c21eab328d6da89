/** The type of a client of the HTTP server. server/client/client.ts makes one. */
import { isRecord } from "../json.ts";
import type { Contract } from "./contract.ts";
import type { AnswerOf, RouteDefinition, SentTo } from "./route.ts";

/** One method for each route of the contract. An event stream is followed by `followEvents(client.events, …)`. */
export type PosternClient = {
  readonly [Group in keyof Contract]: {
    readonly [Name in keyof Contract[Group]]: ClientMethod<Contract[Group][Name]>;
  };
};

/** The parts of the path, the query and the body stand beside each other in `sent`. An answer that is not JSON comes as bytes. */
type ClientMethod<R> = R extends RouteDefinition
  ? object extends SentTo<R>
    ? (sent?: SentTo<R>, signal?: AbortSignal) => Reply<R>
    : (sent: SentTo<R>, signal?: AbortSignal) => Reply<R>
  : never;
type Reply<R extends RouteDefinition> = R["answer"] extends string ? AnswerOf<R> : Promise<AnswerOf<R>>;

/** Returns undefined when the server refuses with this code. */
export async function unless<Answer>(code: string, answer: Promise<Answer>): Promise<Answer | undefined> {
  return answer.catch((error: unknown) => {
    if (problemCodeOf(error) === code) return undefined;
    throw error;
  });
}

/** The code of a problem that a client throws. Undefined for any other error. */
export function problemCodeOf(error: unknown): string | undefined {
  const isProblem = error instanceof Error && error.name === "ClientProblem" && isRecord(error);
  return isProblem && typeof error["code"] === "string" ? error["code"] : undefined;
}
