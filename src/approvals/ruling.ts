import type { Risk } from "../calls/call.ts";
import type { ApprovalWord, Weighing } from "../calls/event.ts";
import type { JsonObject } from "../calls/json.ts";
import type { Preview } from "../calls/outcome.ts";
import type { ApprovalRecord, ReferencedArtifact } from "../calls/records.ts";
import type { Remembered } from "./grant.ts";

/** One decision on its way into the book. The decider is whoever the door authenticated. */
export interface Ruling {
  readonly as: ApprovalWord;
  readonly by: string;
  readonly via: string;
  readonly onBehalfOf?: string | undefined;
  readonly reason?: string | undefined;
  /** How many different persons must say yes. Default 1. */
  readonly quorum?: number;
  /** With `modified`. */
  readonly edited?: Edit | undefined;
  /** What is remembered of the yes that ends it, made of the record as it will be: both are written, or neither. */
  readonly remember?: ((approved: ApprovalRecord) => Remembered) | undefined;
}

/** As it is written: wall clock, milliseconds. */
export type Dated = Ruling & { readonly at: number };

/** What runs instead, and its binding, made by the gates that weighed it. */
export interface Edit {
  readonly arguments: JsonObject;
  /** What its references stand for. */
  readonly artifacts?: readonly ReferencedArtifact[];
  readonly binding: string;
  readonly risk: Risk;
  readonly why: Weighing["reasons"];
  /** The tool's own words for it. */
  readonly summary?: string;
  /** Where others must still agree: what they are shown. */
  readonly preview?: Preview;
}
