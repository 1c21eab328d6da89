import type { Json } from "@postern/core";

interface ClientProblemFields {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly body?: Json;
  readonly cause?: unknown;
}

/** A request the server did not take, or a server that was not there (`status` 0, `code` `unreachable`). A refused call is no problem: it is an outcome. */
export class ClientProblem extends Error {
  override readonly name = "ClientProblem";
  readonly status: number;
  readonly code: string;
  /** The whole answer: beside `error` it may hold the record that was in the way. */
  readonly body: Json;

  constructor({ status, code, message, body = null, cause }: ClientProblemFields) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.body = body;
  }
}
