/**
 * `postern/stores`: the port of a store, the rows that it keeps, and the rules that every store follows. A store of your
 * own keeps rows; `resultOfWrite` says what to keep.
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
export { answeringRow, answersUntil } from "./equal-calls.ts";
export { Followers } from "./followers.ts";
export type { ListedCall } from "./lists.ts";
export { approvalsIn, artifactsNeededBy, audiencesIn, callsIn } from "./lists.ts";
export type { OpenStore, StoreContext } from "./open-store.ts";
export { artifactDigestsIn, callNeedsArtifacts, requestNeedsArtifacts } from "./references.ts";
export type { LostWrite, NewDocument, StoredRows, WonWrite } from "./rules.ts";
export { leftUnknownBy, resultOfWrite, secondEventOf } from "./rules.ts";
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
  StoreListener,
  WaitingAudience,
  WaitingFilter,
} from "./store.ts";
export type { WaitingApproval } from "./urgency.ts";
export { callStateAt, placeOfCursor, requestStateAt, urgencyOf } from "./urgency.ts";
