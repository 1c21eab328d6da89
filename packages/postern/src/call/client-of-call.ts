import type { JsonObject } from "@postern/core";

/** What an MCP server asks while a call of it runs: `elicitation/create`, `sampling/createMessage` or `roots/list`. */
export interface ServerQuestion {
  readonly method: string;
  readonly params: JsonObject;
}

/** Questions and answers by the names that the asking side chose. */
export type Named<Value> = Readonly<Record<string, Value>>;

/** How much a log message matters, from the least on. */
export const logLevels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Whether a message of a level is told to a client that wants those from `from` on. A level of no protocol matters least. */
export function reaches(level: unknown, from: LogLevel): boolean {
  return logLevels.indexOf(level as LogLevel) >= logLevels.indexOf(from); // any other value is not found
}

/** A client as long as it listens: it is told which resources changed. */
export interface ResourceListener {
  /** Where it is taken out when it listens no more. */
  readonly followed: Set<{ leave(listener: ResourceListener): void }>;
  readonly isGone: boolean;
  /** @param params of the server's notification, with its own address */
  updated(server: string, params: JsonObject): void;
}

/** The MCP client behind a call that runs. It can be asked, and told. */
export interface ClientOfCall {
  /** The log messages that it wants of its calls. Left out: none. */
  readonly logs?: { readonly from: LogLevel; readonly isAsked: boolean } | undefined;
  /** Where it is told what it subscribes to. Left out: it cannot subscribe. */
  readonly listener?: ResourceListener | undefined;
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
