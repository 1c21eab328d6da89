import type { JsonObject } from "@postern/core";

/** What an MCP server asks while a call of it runs: `elicitation/create`, `sampling/createMessage` or `roots/list`. */
export interface ServerQuestion {
  readonly method: string;
  readonly params: JsonObject;
}

/** Questions and answers by the names that the asking side chose. */
export type Named<Value> = Readonly<Record<string, Value>>;

/** The MCP client behind a call that runs. It can be asked, and told. */
export interface ClientOfCall {
  /** What the client can do, as it states it. */
  readonly capabilities: JsonObject;
  /**
   * Resolves with the client's answers, however long its person takes.
   *
   * @param hasBegun the server has begun to run the call; otherwise nothing has run, and the call can be given up
   * @throws Error with a JSON-RPC `code` if the client cannot be asked, with `notExecuted` if the call was given up
   */
  ask(questions: Named<ServerQuestion>, hasBegun: boolean): Promise<Named<JsonObject>>;
  tell(method: string, params: JsonObject): void;
}
