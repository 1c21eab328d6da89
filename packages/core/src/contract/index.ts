/**
 * `@postern/core/contract`: each HTTP route as one definition, the types that follow from it, and a client. It runs in a
 * browser.
 *
 * @packageDocumentation
 */
export type { AccountAnswer, ListedTokenAnswer } from "./accounts.ts";
export { accounts, tokens } from "./accounts.ts";
export type { AlarmChangeView, AlarmPageView, AlarmView } from "./alarms.ts";
export { alarm, alarms } from "./alarms.ts";
export type {
  AddresseesView,
  ApprovalCountsView,
  ApprovalGroupView,
  ApprovalPageView,
  ApprovalView,
  ArtifactView,
  BatchAnswer,
  DecisionVerb,
  ViewerInput,
  ViewerView,
  WaitingCounts,
} from "./approvals.ts";
export { approval, approvals } from "./approvals.ts";
export type {
  AuditEventView,
  CheckedView,
  EventProof,
  ObservedToolView,
  ObservedView,
  VerificationView,
} from "./audit.ts";
export { audit, checked, verification } from "./audit.ts";
export type { CallFields, CallView } from "./calls.ts";
export { call, calls } from "./calls.ts";
export type { Chain, ChainPage } from "./chains.ts";
export { chain, chains } from "./chains.ts";
export type { ChannelView } from "./channels.ts";
export { channel, channels } from "./channels.ts";
export type { PosternClient } from "./client.ts";
export { problemCodeOf, unless } from "./client.ts";
export type { ConnectionView } from "./connections.ts";
export { connections } from "./connections.ts";
export type { Contract } from "./contract.ts";
export { contract } from "./contract.ts";
export type { ControlChangeView, ControlsView, PauseView } from "./controls.ts";
export { controlState, controls, secrets } from "./controls.ts";
export type { FeedEventView } from "./events.ts";
export { events, feedEvent } from "./events.ts";
export { each, iso, name, runId } from "./fields.ts";
export type { GrantView, RememberBody } from "./grants.ts";
export { grant, grants, remember } from "./grants.ts";
export type { CandidateView } from "./memory.ts";
export { candidate, memory } from "./memory.ts";
export { metrics } from "./metrics.ts";
export type { NeedItem, NeedKind, NeedView } from "./needs.ts";
export { needs } from "./needs.ts";
export type { OutcomeView, PreviewView } from "./outcome.ts";
export { blockData, outcome, preview, problemBody } from "./outcome.ts";
export type {
  DecisionView,
  EffectiveLineView,
  EffectivePolicyView,
  ExplanationView,
  PolicyReloadedView,
  PolicyTest,
  PolicyTextView,
  PolicyWarningView,
  ReasonView,
  SimulationView,
  TestResult,
  VerdictChangeView,
  VerdictGroupView,
  VerdictView,
} from "./policy.ts";
export { decision, explanation, policy } from "./policy.ts";
export type { ReadinessView } from "./probes.ts";
export { probes } from "./probes.ts";
export type { AnswerOf, BodyOf, Input, QueryOf, RouteDefinition, RouteGroup, SentTo } from "./route.ts";
export { fieldsOf, fromSearch, fromText, noFields, partsOf, shape } from "./route.ts";
export type { RunEventView, RunPageView, RunView, TimelineApproval, TimelineCall, TimelinePage } from "./runs.ts";
export { agentRuns, runs, timelineCall } from "./runs.ts";
export type { SessionAnswer } from "./session.ts";
export { openId, session, signedIn } from "./session.ts";
export type { SkillList, SkillProblemView, SkillView } from "./skills.ts";
export { skillList, skills } from "./skills.ts";
export type { StorageView } from "./storage.ts";
export { backups, storage } from "./storage.ts";
export type {
  ActionStatisticsView,
  DefinitionView,
  DifferenceView,
  HealthView,
  ServerHealth,
  StatisticsView,
  ToolChangesView,
  ToolView,
} from "./tools.ts";
export { artifacts, health, serverHealth, servers, tool, toolChanges, tools } from "./tools.ts";
