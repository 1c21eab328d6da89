/**
 * `postern/stores`: the port of a store, the rows that it keeps, and the rules that decide its writes.
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
export { audienceKey } from "./audience.ts";
export type { AnsweringAt, EqualCall } from "./equal-calls.ts";
export { answering } from "./equal-calls.ts";
export { Followers } from "./followers.ts";
export type { OpenStore, StoreContext } from "./open-store.ts";
export { digestsIn as artifactDigestsIn, mayRunWith, needsArtifacts } from "./references.ts";
export type { Lost, NewDocument, Rows, Won } from "./rules.ts";
export { leftUnknownBy, rule, secondEventOf } from "./rules.ts";
export type {
  ApprovalFilter,
  AudienceFilter,
  CallFilter,
  CallName,
  Committed,
  Documents,
  Durability,
  EntryFilter,
  SerializeEvent,
  Store,
  StoreEntry,
  WaitingAudience,
  WaitingFilter,
} from "./store.ts";
export type { WaitingApproval } from "./urgency.ts";
export { callStateAt, placeIn, stateAt, urgencyOf } from "./urgency.ts";
