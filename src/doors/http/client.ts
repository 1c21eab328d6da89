import { type Client, clientOf } from "../contract/client.ts";
import { type Contract, contract } from "../contract/contract.ts";
import { Line } from "./client-line.ts";
import { type EventQuery, type FollowOptions, followEvents, type Heard } from "./event-client.ts";
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
 * The other end of the HTTP door, for the command line and for programs in this process's language.
 *
 * Contract: every method throws `ClientProblem` and nothing else, but for an aborted `signal`.
 */
export function createClient({ url, token, send = patientSend }: ClientOptions): PosternClient {
  return new PosternClient(new Line(url, token, send));
}

export class PosternClient {
  readonly #line: Line;
  readonly api: Client<Contract>;

  constructor(line: Line) {
    this.#line = line;
    this.api = clientOf(contract, line);
  }

  /** What happens, from now on, until `signal` says so. */
  events(where: EventQuery, options: FollowOptions): AsyncGenerator<Heard> {
    return followEvents(this.api.events, where, options);
  }
}
