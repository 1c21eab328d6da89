/** Calls that do not come from outside: a recorded call that enters again, and a child call of a tool. */

import { type Authority, childKey, RuntimeFault, type ToolCall, type ToolOutcome } from "@postern/core";
import { type Caller, type Limits, Session } from "../../call/session.ts";
import type { Parts } from "../../pipeline/dependencies.ts";
import { releasePins } from "../../results/releases.ts";
import type { CallContext, CallRequest } from "../api/api.ts";
import type { CallFactory } from "./call-factory.ts";

export interface ReEntryOptions {
  readonly parts: Parts;
  readonly factory: CallFactory;
  readonly limits: Limits;
}

type ParentOfCall = Pick<ToolCall, "id" | "authority"> & { readonly key: string };

export const closedMessage =
  "This runtime is closed: nothing runs in it any more. `createRuntime` makes a new one on the same store.";

export class ReEntry {
  readonly factory: CallFactory;
  /** New calls are refused. */
  closing = false;
  /** The store is closed. */
  closed = false;
  readonly #options: ReEntryOptions;

  constructor(options: ReEntryOptions) {
    this.#options = options;
    this.factory = options.factory;
  }

  /** Lets a recorded call enter again, for the caller in `context`. */
  async reEnter(
    context: CallContext,
    go: (arrival: ReturnType<CallFactory["arrive"]>, caller: Caller) => Promise<ToolOutcome | undefined>,
  ): Promise<ToolOutcome | undefined> {
    if (this.closed) throw new RuntimeFault("runtime_closed", closedMessage);
    const asker = this.factory.asker(context);
    const { limits, parts } = this.#options;
    const session = new Session(limits, parts.clock);
    const isLate = this.closing;
    try {
      return await go(this.factory.arrive(), { ...this.factory.caller(session, context), asker, isLate });
    } finally {
      if (session.hasPins) await releasePins(session, parts.artifacts, parts.log);
    }
  }

  /** A tool's call of another tool: it has its parent's authority; its key is its number within the parent. */
  child(parent: ParentOfCall, number: number, request: CallRequest): ToolCall {
    return this.factory.call(request, childAuthority(parent.authority), {
      idempotencyKey: childKey(parent.key, number),
      parentId: parent.id,
    });
  }
}

/** A tool may use other tools than its caller. A script is written by the caller, so it may not. */
function childAuthority(authority: Authority): Authority {
  if (authority.tools === undefined || authority.fromChain === true) return authority;
  const { tools: _, ...rest } = authority;
  return Object.freeze(rest);
}
