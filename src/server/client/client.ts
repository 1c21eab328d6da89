import { type Client, clientOf } from "../contract/client.ts";
import { type Contract, contract } from "../contract/contract.ts";
import { Line } from "./client-line.ts";
import { patientSend } from "./patient-send.ts";

export { ClientProblem } from "./client-line.ts";

export interface ClientOptions {
  /** `http://127.0.0.1:7420`. */
  readonly url: string;
  readonly token: string;
  /** Carries the requests. Default: HTTP, without a limit of time. A server in this process is asked without a socket. */
  readonly send?: (request: Request) => Promise<Response>;
}

/**
 * A client of the HTTP server, for the command line and for programs in this process's language.
 *
 * Contract: every method throws `ClientProblem` and nothing else, but for an aborted `signal`.
 */
export function createClient({ url, token, send = patientSend }: ClientOptions): PosternClient {
  return clientOf(contract, new Line(url, token, send));
}

/** One method for each route of the contract. An event stream is followed by `followEvents(client.events, …)`. */
export type PosternClient = Client<Contract>;
