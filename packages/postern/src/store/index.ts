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
export type { Timings } from "../system/timings.ts";
export type { Audience } from "./audience.ts";
export { audienceKey } from "./audience.ts";
export { commitTimings } from "./commit-timings.ts";
export type { AnsweringAt, EqualCall } from "./equal-calls.ts";
export { answeringRow, answersUntil } from "./equal-calls.ts";
export type { ErasingBefore, Erasure } from "./erasing.ts";
export { erasableSince, erasedEntry, erasedLeaf, erasureOfCall, mayEraseRequest } from "./erasing.ts";
export { Followers } from "./followers.ts";
export type { ListedCall } from "./lists.ts";
export { approvalsIn, artifactsNeededBy, audiencesIn, callsIn, countsIn, groupsIn } from "./lists.ts";
export type { OpenStore, StoreContext } from "./open-store.ts";
export { artifactDigestsIn, callNeedsArtifacts, requestNeedsArtifacts } from "./references.ts";
export type { LostWrite, NewDocument, StoredRows, WonWrite } from "./rules.ts";
export { leftUnknownBy, resultOfWrite, secondEventOf } from "./rules.ts";
export { callText, likePatterns, mayMention, mentions, requestText, wordsOf } from "./search-text.ts";
export type { CountedAs, CountedCalls, Period, StatisticsFilter, StatisticsMember } from "./statistics.ts";
export { addedUp, keptMs, percentile, periodMs, periodOf, StatisticRows, statisticsIn, stepOf } from "./statistics.ts";
export type {
  ApprovalFilter,
  AudienceFilter,
  CallFilter,
  CallName,
  Committed,
  Documents,
  Durability,
  EntryFilter,
  GroupFilter,
  RequestCounts,
  SerializeEvent,
  SharedMember,
  Store,
  StoredKind,
  StoredSize,
  StoreEntry,
  StoreListener,
  StoreMeasures,
  StoreUpkeep,
  WaitingAudience,
  WaitingFilter,
  WaitingGroup,
} from "./store.ts";
export type { WaitingApproval, WaitingPart, WaitingPlace } from "./urgency.ts";
export {
  callStateAt,
  cursorOf,
  partOf,
  placeInSql,
  placeOf,
  placeOfCursor,
  requestStateAt,
  soonUntilOf,
} from "./urgency.ts";
