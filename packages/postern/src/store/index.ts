/**
 * `postern/stores`: the port of a store, and the rows that it keeps.
 *
 * @packageDocumentation
 */
export type {
  AddedDocument,
  CallRecord,
  CallState,
  ReferencedArtifact,
  RowEnd,
  StoreWrite,
} from "@postern/core";
export type { Audience } from "./audience.ts";
export type { OpenStore, StoreContext } from "./open-store.ts";
export type {
  ApprovalFilter,
  CallFilter,
  Committed,
  Documents,
  Durability,
  EntryFilter,
  SerializeEvent,
  Store,
  StoreEntry,
  WaitingFilter,
} from "./store.ts";
export type { WaitingApproval } from "./urgency.ts";
