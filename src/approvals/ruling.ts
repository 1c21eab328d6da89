import type { Risk } from "../calls/call.ts";
import type { ApprovalWord, Weighing } from "../calls/event.ts";
import type { JsonObject } from "../calls/json.ts";

/** One decision on its way into the book. The decider is whoever the door authenticated. */
export interface Ruling {
  readonly as: ApprovalWord;
  readonly by: string;
  readonly via: string;
  readonly onBehalfOf?: string | undefined;
  readonly reason?: string | undefined;
  /** What is demanded of it. Default: one yes, one no. */
  readonly quorum?: number;
  readonly deny?: "any" | "quorum";
  /** With `modified`: what runs instead, and its binding, made by the gates that weighed it. */
  readonly edited?:
    | {
        readonly arguments: JsonObject;
        readonly binding: string;
        readonly risk: Risk;
        readonly why: Weighing["reasons"];
      }
    | undefined;
}
