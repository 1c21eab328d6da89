/**
 * `postern/stores`: the port of a store, and the rows that it keeps.
 *
 * @packageDocumentation
 */
export type { Along, CallRecord, CallState, ReferencedArtifact, RowEnd, Write } from "../calls/records.ts";
export type { OpenStore, StoreHouse } from "../runtime/open-store.ts";
export type { Audience } from "./audience.ts";
export type {
  ApprovalFilter,
  CallFilter,
  Committed,
  Documents,
  Durability,
  Entry,
  EntryFilter,
  Spell,
  Store,
  WaitingFilter,
} from "./store.ts";
export type { Waiting } from "./urgency.ts";
