/** The ways in that nobody outside is handed: a recorded call that enters again, and a tool's own call of another one. */
import type { ToolCall } from "../core/call.ts";
import { childKey } from "../core/child-key.ts";
import { RuntimeFault } from "../core/fault.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import { type Caller, type Limits, Session } from "../core/session.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { releasePins } from "../results/release-pins.ts";
import type { CallContext, CallRequest } from "./api.ts";
import type { CallFactory } from "./call-factory.ts";

export interface ReEntryOptions {
  readonly parts: Parts;
  readonly reception: CallFactory;
  readonly limits: Limits;
}

type ParentOfCall = Pick<ToolCall, "id" | "authority"> & { readonly key: string };

export const closedTell =
  "This runtime is closed: nothing runs in it any more. `createRuntime` makes a new one on the same store.";

export class ReEntry {
  readonly reception: CallFactory;
  /** Nothing begins any more. */
  closing = false;
  /** Nothing can be recorded any more. */
  closed = false;
  readonly #options: ReEntryOptions;

  constructor(options: ReEntryOptions) {
    this.#options = options;
    this.reception = options.reception;
  }

  /** A recorded call enters again, for whoever asks for it now. */
  async entering(
    context: CallContext,
    go: (arrival: ReturnType<CallFactory["arrive"]>, caller: Caller) => Promise<ToolOutcome | undefined>,
  ): Promise<ToolOutcome | undefined> {
    if (this.closed) throw new RuntimeFault("runtime_closed", closedTell);
    const asker = this.reception.asker(context);
    const { limits, parts } = this.#options;
    const session = new Session(limits, parts.clock);
    if (this.closing) session.close();
    try {
      return await go(this.reception.arrive(), { ...this.reception.caller(session, context), asker });
    } finally {
      if (session.hasPins) await releasePins(session, parts.artifacts, parts.log);
    }
  }

  /** A tool's call of another tool: its parent's authority, its own number in the parent as key (D23). */
  child(parent: ParentOfCall, number: number, request: CallRequest): ToolCall {
    return this.reception.call(request, parent.authority, {
      idempotencyKey: childKey(parent.key, number),
      parentId: parent.id,
    });
  }
}
