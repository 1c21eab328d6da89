/**
 * Postern: the gate that every tool call passes. Named exports only; nothing else is public.
 *
 * @packageDocumentation
 */
import "./system/node-version.ts"; // first: an old Node is told so before anything else is run

export type {
  Account,
  AccountChange,
  Accounts,
  ApiToken,
  Attempt,
  Found,
  FoundSession,
  FoundToken,
  ListedToken,
  LiveSession,
  NewAccount,
  NewToken,
  OpenIdPerson,
  SignedIn,
  SignIn,
} from "./accounts/accounts.ts";
export type { OpenIdSettings } from "./accounts/openid.ts";
export type { PasswordCost } from "./accounts/password.ts";
export type { Permission, Role } from "./accounts/roles.ts";
export { permissions } from "./accounts/roles.ts";
export type { SessionLimits } from "./accounts/session-book.ts";
export type {
  Alarm,
  AlarmChange,
  AlarmFilter,
  AlarmPage,
  AlarmSeverity,
  AlarmState,
  Alarms,
  AlarmWord,
} from "./alarms/alarms.ts";
export type { Answer, Approver } from "./approvals/approver.ts";
export { autoApprover, callbackApprover, policyApprover } from "./approvals/approver.ts";
export { shownDigest } from "./approvals/binding.ts";
export type {
  BatchDecided,
  BatchRequest,
  Decided,
  Decider,
  DeciderRole,
  DecisionProblem,
  DecisionRequest,
  Eligible,
  WhyNot,
} from "./approvals/decision.ts";
export { decisionProblems } from "./approvals/decision.ts";
export type { Delegated, Delegation, DelegationFilter, DelegationRequest } from "./approvals/delegations.ts";
export type { Grant, GrantFilter, GrantState, Remember } from "./approvals/grant.ts";
export type { ApprovalRoute } from "./approvals/routes.ts";
export type { ExportedLog } from "./audit/lines.ts";
export type {
  AuditEvent,
  AuditFilter,
  AuditLog,
  Checked,
  EntryProof,
  LatestFilter,
  LatestPage,
  Verification,
} from "./audit/log.ts";
export type { ConsistencyProof, InclusionProof } from "./audit/proofs.ts";
export { consistencyPath, leafHash, verifyConsistency, verifyInclusion } from "./audit/proofs.ts";
export type { RecheckSettings } from "./audit/recheck.ts";
export type { ExportVerification, VerifyExportOptions } from "./audit/verify.ts";
export { verifyExport } from "./audit/verify.ts";
export type { Witness, WitnessSettings } from "./audit/witness.ts";
export type { Actor } from "./calls/actor.ts";
export type { Authority, Autonomy, Principal, Risk, ToolCall, Verdict } from "./calls/call.ts";
export { CallRefused } from "./calls/call-refused.ts";
export type { Clock } from "./calls/clock.ts";
export { SystemClock } from "./calls/clock.ts";
export type {
  AgentProgress,
  ApprovalWord,
  CallEvent,
  DurableEvent,
  EndName,
  NotedEvent,
  ProgressSink,
  Reason,
  Weighing,
} from "./calls/event.ts";
export { RuntimeFault } from "./calls/fault.ts";
export type { FaultCode } from "./calls/fault-codes.ts";
export type { Json, JsonObject } from "./calls/json.ts";
export type { CallStatus, ContentBlock, Mark, MediaBlock, Preview, ResultFile, ToolOutcome } from "./calls/outcome.ts";
export type {
  Addressees,
  Along,
  ApprovalRecord,
  ApprovalState,
  CallRecord,
  CallState,
  ReferencedArtifact,
  Routed,
  RowEnd,
  Vote,
  Write,
} from "./calls/records.ts";
export type { Refusal, RefusalCode, RefusalKind, Retry } from "./calls/refusals.ts";
export { refusals } from "./calls/refusals.ts";
export type { RunFolders } from "./calls/run-folders.ts";
export type { ChainEngine, ChainScript, ChainSummary } from "./calls/scripts.ts";
export type { Limits, Patience, TraceLine } from "./calls/session.ts";
export { chainLimits, directLimits } from "./calls/session.ts";
export type { ChainOptions } from "./chains/chain-options.ts";
export type { AccessOptions, FirecrackerOptions, KubernetesOptions } from "./chains/hardened.ts";
export { firecrackerDriver, kubernetesDriver } from "./chains/hardened.ts";
export type { EngineSettings } from "./chains/known-engines.ts";
export type {
  AskedCall,
  Printed,
  Program,
  SandboxDriver,
  SandboxLimits,
  SandboxSession,
  Settled as SettledCall,
  Step as SandboxStep,
  ToolSketch,
} from "./chains/sandbox.ts";
export type { Channel, ChannelState, Channels, DeadLetter, Delivered, Notice, NoticeType } from "./channels/channel.ts";
export type { ChannelsOptions, OpenChannels, WebhookSettings } from "./channels/open-channels.ts";
export type { PosternConfig } from "./config/define-config.ts";
export { defineConfig } from "./config/define-config.ts";
export { createRuntime } from "./create.ts";
export { createTerminalApprover, createWebApprover } from "./doors/approvers.ts";
export type { TerminalApproverOptions } from "./doors/cli/terminal-approver.ts";
export type { WebApprover, WebApproverOptions } from "./doors/http/web-approver.ts";
export type {
  Approvals,
  BatchedCall,
  CallContext,
  CallRequest,
  Calls,
  Chains,
  Explanation,
  Health,
  LedgerFace,
  Recorded,
  Runtime,
  RuntimeSession,
  SessionCall,
  Settled,
} from "./face.ts";
export type { ControlChange, ControlState, Controls } from "./policy/controls.ts";
export type { PolicyOptions } from "./policy/decide.ts";
export { createPolicy } from "./policy/decide.ts";
export type {
  ArgumentGuardrail,
  ArgumentSays,
  GuardedArguments,
  GuardedCall,
  GuardedResult,
  Guardrail,
  GuardrailFinding,
  ResultGuardrail,
  ResultSays,
} from "./policy/guardrails/guardrails.ts";
export type { PatternGuardrailOptions } from "./policy/guardrails/pattern-guardrail.ts";
export { patternGuardrail } from "./policy/guardrails/pattern-guardrail.ts";
export type { PersonalDataKind, PersonalDataOptions } from "./policy/guardrails/personal-data.ts";
export { personalData } from "./policy/guardrails/personal-data.ts";
export type { PromptInjectionOptions } from "./policy/guardrails/prompt-injection.ts";
export { promptInjection } from "./policy/guardrails/prompt-injection.ts";
export type {
  ActiveSkills,
  Decision,
  EffectiveLine,
  EffectivePolicy,
  EffectiveQuery,
  ExtraLayer,
  Facts,
  Finding,
  Policy,
  RiskGuess,
  ToolFacts,
} from "./policy/policy.ts";
export type { Expectation, ExpectationResult, ExpectedPast } from "./policy/report/expectations.ts";
export type { VerdictChange } from "./policy/report/simulate.ts";
export type { PolicyWarning } from "./policy/report/warnings.ts";
export { policyWarnings } from "./policy/report/warnings.ts";
export type { AdjusterOptions } from "./policy/risk/adjusters.ts";
export type { GuessedTool } from "./policy/risk/guess.ts";
export { guessRisk } from "./policy/risk/guess.ts";
export type { MatrixChanges } from "./policy/risk/matrix.ts";
export type { PackOptions } from "./policy/risk/pack.ts";
export type { QuietHours } from "./policy/risk/quiet-hours.ts";
export type { Condition, Conditions } from "./policy/rules/condition.ts";
export type { HistoryLimit, PastSelector } from "./policy/rules/history-limit.ts";
export type { Rule } from "./policy/rules/rules.ts";
export type { SandboxConstraint } from "./policy/rules/sandbox.ts";
export type { PolicyFace, SimulateFilter, Simulation } from "./policy-face.ts";
export type {
  ArtifactMeta,
  ArtifactStore,
  ArtifactStream,
  ByteRange,
  OwnArtifactStore,
} from "./results/artifact-store.ts";
export { describe as describeResult } from "./results/describe.ts";
export type { ErrorCategory, ErrorInfo, ResultArtifact, ToolResult } from "./results/tool-result.ts";
export { toolResult } from "./results/tool-result.ts";
export type { OpenStore, StoreHouse } from "./runtime/open-store.ts";
export type { RuntimeOptions } from "./runtime/options.ts";
export type { CommandSecretsOptions } from "./secrets/command-secrets.ts";
export { commandSecrets } from "./secrets/command-secrets.ts";
export type { EnvironmentSecretsOptions } from "./secrets/env-secrets.ts";
export { environmentSecrets } from "./secrets/env-secrets.ts";
export type { BackendName } from "./secrets/open-secrets.ts";
export type { SealedSecretsOptions } from "./secrets/sealed-secrets.ts";
export { sealedSecrets } from "./secrets/sealed-secrets.ts";
export type { PatternMode, Redactor, Secret, SecretStore } from "./secrets/secret-store.ts";
export type { Audience } from "./stores/audience.ts";
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
} from "./stores/store.ts";
export type { Waiting } from "./stores/urgency.ts";
export type { FileToolOptions } from "./tools/builtin/files/files.ts";
export { fileTools } from "./tools/builtin/files/files.ts";
export type { FileRoot } from "./tools/builtin/files/roots.ts";
export type { EmbeddedMemory } from "./tools/builtin/memory/embedded-memory.ts";
export { openEmbeddedMemory } from "./tools/builtin/memory/embedded-memory.ts";
export type {
  Memory,
  MemoryCall,
  MemoryFor,
  MemoryProvider,
  WriteMode,
  Written,
} from "./tools/builtin/memory/memory.ts";
export type { MemoryOptions } from "./tools/builtin/memory/memory-tools.ts";
export { memoryTools } from "./tools/builtin/memory/memory-tools.ts";
export type { ServerMemoryOptions } from "./tools/builtin/memory/server-memory.ts";
export { serverMemory } from "./tools/builtin/memory/server-memory.ts";
export { readArtifact } from "./tools/builtin/read-artifact.ts";
export type { SkillKeeping } from "./tools/builtin/skills/active.ts";
export type { GivenSkill, SkillDefinition } from "./tools/builtin/skills/define-skill.ts";
export { defineSkill } from "./tools/builtin/skills/define-skill.ts";
export type { SkillsHouse, SkillsOptions } from "./tools/builtin/skills/library.ts";
export { openSkills } from "./tools/builtin/skills/open-skills.ts";
export type {
  LoadedSkill,
  Skill,
  SkillFile,
  SkillProblem,
  SkillRun,
  Skills,
} from "./tools/builtin/skills/skills.ts";
export type { CatalogueOptions, FoundTool } from "./tools/catalogue.ts";
export { scanCatalogue } from "./tools/catalogue.ts";
export { defineTool, legacyTool, suspend } from "./tools/define.ts";
export type { ToolCallRequest, ToolExecutionResult } from "./tools/exchange.ts";
export { toolCallRequest, toolExecutionResult } from "./tools/exchange.ts";
export type { AnyTool, HostedTool, LocalTool, ProviderDefinedTool } from "./tools/kinds.ts";
export { isHostedTool, isLocalTool, isProviderDefinedTool } from "./tools/kinds.ts";
export type { FunctionSpec, ProviderSpec, ToolSpec } from "./tools/offers.ts";
export { specOf } from "./tools/offers.ts";
export type { Registry } from "./tools/registry.ts";
export { combined } from "./tools/sets/combined.ts";
export { filtered } from "./tools/sets/filtered.ts";
export { prefixed } from "./tools/sets/prefixed.ts";
export { skilled } from "./tools/sets/skilled.ts";
export type { GivenTools, Toolset } from "./tools/sets/toolset.ts";
export type { ActionStatistics, Minute, ToolStatistics } from "./tools/statistics.ts";
export type { Offer, ToolAnswer, ToolArtifacts, ToolContext, ToolHealth } from "./tools/tool.ts";
export { Toolbox } from "./tools/toolbox.ts";
export type { Difference } from "./tools/upstream/differences.ts";
export type { KeptDefinition } from "./tools/upstream/pin.ts";
export type { ToolApproval, ToolApproved, ToolChanges, ToolPins } from "./tools/upstream/pins.ts";
export type { ServerConfig } from "./tools/upstream/server-config.ts";
export { openRunFolders } from "./watchers/archive/folders.ts";
export type {
  Governance,
  GovernanceReason,
  RunAbout,
  RunCounts,
  RunEvent,
  RunFilter,
  RunName,
  RunPage,
  RunProblem,
  RunState,
  RunSummary,
  Runs,
  RunVerification,
  ToolRecord,
} from "./watchers/archive/runs.ts";
export type { Feed, FeedReader, FeedSeat, ResetReason } from "./watchers/feed.ts";
export type { FeedEvent, FeedFilter } from "./watchers/feed-event.ts";
export type { Hooks } from "./watchers/hooks.ts";
export { progressWatcher } from "./watchers/progress.ts";
export type { Watcher } from "./watchers/watcher.ts";
