/**
 * `@postern/core`: calls, outcomes, refusals, faults, events, risk, ids, JSON and texts that are safe to show. It runs in a
 * browser.
 *
 * @packageDocumentation
 */
export type { Actor } from "./actor.ts";
export { checkActorFields } from "./actor.ts";
export { runBatch } from "./batch.ts";
export type { Authority, Autonomy, Principal, Risk, ToolCall, Verdict } from "./call.ts";
export { isOnRecord, isRepeatable } from "./call.ts";
export type { TextPart } from "./card-text.ts";
export { codeOf, partsOf, withHiddenShown } from "./card-text.ts";
export type { CamelCased, OpaqueFields, SnakeCased, SnakeName } from "./case.ts";
export { camelName, noOpaqueFields, opaqueFields, snakeName, toCamelCase, toSnakeCase } from "./case.ts";
export type { Kind, LimitTable } from "./checked-members.ts";
export { checkedLimits, checkId, checkMember, checkMembers } from "./checked-members.ts";
export type { ClientEdit, ClientServer } from "./clients.ts";
export { clientFileText, clientServers, editFor, ownServer, tokenVariable } from "./clients.ts";
export type { Clock } from "./clock.ts";
export { SystemClock } from "./clock.ts";
export {
  actionText,
  decidedWords,
  decisionsText,
  decisionText,
  largestBatch,
  longestComment,
} from "./decision-text.ts";
export type {
  AgentProgress,
  Announce,
  ApprovalEndName,
  CallEvent,
  DurableEvent,
  EndName,
  NotedEvent,
  ProgressCount,
  ProgressSink,
  Reason,
  Watcher,
  Weighing,
} from "./event.ts";
export { commentedType, endEvents, momentNames, storedEventIn } from "./event.ts";
export type { FaultCode } from "./fault.ts";
export { faultStatus, messageOf, RuntimeFault } from "./fault.ts";
export { arrivedAtOf, isRunOfTheDay, leastCallIdAt, newCallId, newId, newTraceId } from "./ids.ts";
export { latinLetters, showHidden } from "./invisible.ts";
export type { Json, JsonObject } from "./json.ts";
export { canonical, copyOf, deepFrozen, defined, isJsonObject, isPlain, isRecord, isScalar, maxDepth } from "./json.ts";
export type { ModelCall } from "./model-call.ts";
export { childKey, childNumber, isNamedBy, modelCallOf, modelCallsOf, parentKeyOf, statedRunOf } from "./model-call.ts";
export {
  defaultPrincipal,
  isDirectCall,
  isSamePerson,
  normalizedName,
  ownAgents,
  readArtifactName,
  referenceKey,
  secretNamePattern,
  secretPathPattern,
} from "./names.ts";
export type { CallStatus, ContentBlock, Cut, Mark, MediaBlock, Preview, ResultFile, ToolOutcome } from "./outcome.ts";
export { CallRefused, isPlainText, lineOfBytes, refusedOutcome, textOf } from "./outcome.ts";
export { reasonsToShow, reasonWords } from "./reason-words.ts";
export type {
  AddedDocument,
  Addressees,
  AgentRunId,
  AgentRuns,
  ApprovalComment,
  ApprovalRecord,
  ApprovalState,
  CallRecord,
  CallState,
  ClaimedPast,
  DeciderState,
  DecisionAuthor,
  ReferencedArtifact,
  Routed,
  RowEnd,
  StoreWrite,
  Vote,
} from "./records.ts";
export { approvalStates, callStates } from "./records.ts";
export type { Refusal, RefusalCode, RefusalKind, Retry } from "./refusals.ts";
export { nextStepOf, refusal, refusals } from "./refusals.ts";
export {
  autonomies,
  higherRisk,
  insteadOf,
  lowerAutonomy,
  parseRisk,
  rankOf,
  requireRisk,
  risks,
  stricter,
  thresholdBelow,
  verdicts,
} from "./risk.ts";
export type { Permission, Role } from "./roles.ts";
export {
  agentPermissions,
  allPermissions,
  builtInName,
  isPermission,
  isRole,
  ownTenant,
  permissions,
  permissionsOf,
  roles,
  rolesWith,
} from "./roles.ts";
export { isData, mapKeywords, pointedTo, unescaped } from "./schema-walk.ts";
export type { ChainEngine, ChainScript, ChainSummary } from "./scripts.ts";
export { asSentence, counted, duration, nearest, shortened, shown, visible } from "./shown.ts";
export { parseStrict } from "./strict-json.ts";
export { hostMatcher, hostOf, hostPatternProblem } from "./url-host.ts";
