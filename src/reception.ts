import { Arrival, nameOf, read } from "./calls/arrival.ts";
import { authorityOf } from "./calls/authority.ts";
import type { Authority, ToolCall } from "./calls/call.ts";
import type { Clock } from "./calls/clock.ts";
import { RuntimeFault } from "./calls/fault.ts";
import { CallIds } from "./calls/ids.ts";
import type { Caller, Limits, Patience, Session } from "./calls/session.ts";
import type { CallContext, CallRequest } from "./face.ts";
import type { Controls } from "./policy/controls.ts";
import type { Store } from "./stores/store.ts";

/** The part of a context that may differ from call to call of one session. */
export type PerCall = Pick<
  CallContext,
  "idempotencyKey" | "patience" | "approvalWaitMs" | "signal" | "deadline" | "onProgress"
>;

export interface ReceptionOptions {
  readonly store: Pick<Store, "nextNumber">;
  readonly clock: Clock;
  readonly controls: Pick<Controls, "state">;
  /** What every caller is granted at most. */
  readonly patience: Patience;
}

const patienceRanks: Readonly<Record<Patience, number>> = { deny: 0, wait: 1, suspend: 2 };

/** Makes calls and callers of what the public face was given: ids, an own copy of the arguments, narrowed claims. */
export class Reception {
  readonly #options: ReceptionOptions;
  readonly #ids = new CallIds();

  constructor(options: ReceptionOptions) {
    this.#options = options;
  }

  arrive(): Pick<ToolCall, "id" | "number" | "arrivedAt"> {
    const arrivedAt = this.#options.clock.now();
    const number = this.#options.store.nextNumber();
    return { id: this.#ids.make(arrivedAt, number), number, arrivedAt };
  }

  /** @throws RuntimeFault `context_invalid` */
  authority(context: CallContext, limits: Limits): Authority {
    const { controls, clock } = this.#options;
    return authorityOf(context, controls.state.autonomy, limits, clock.now());
  }

  call(request: CallRequest, authority: Authority, idempotencyKey?: string, parentId?: string): ToolCall {
    if (typeof request !== "object" || request === null) {
      throw new RuntimeFault(
        "request_invalid",
        `The request is ${String(request)}; it must be { tool, action?, arguments? }.`,
      );
    }
    const { tool, action = "default", arguments: given } = request;
    const { id, number, arrivedAt } = this.arrive();
    const { arguments: own, text, digest, problem } = read(given);
    return new Arrival(
      {
        id,
        number,
        arrivedAt,
        tool: nameOf(tool),
        action: nameOf(action),
        arguments: own,
        text,
        digest,
        problem,
        authority,
        parentId,
        idempotencyKey,
      },
      true,
    );
  }

  caller(session: Session, { patience, signal, deadline, approvalWaitMs, onProgress }: PerCall): Caller {
    const { clock, patience: granted } = this.#options;
    return {
      session,
      patience: patience === undefined || patienceRanks[patience] > patienceRanks[granted] ? granted : patience,
      signal,
      deadline: deadline === undefined ? undefined : clock.monotonic() + (deadline - clock.now()),
      approvalWaitMs,
      progress: onProgress,
    };
  }
}
