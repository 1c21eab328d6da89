/**
 * `postern/observe`: hooks, progress, the event feed, run folders, alarms and notification channels.
 *
 * @packageDocumentation
 */
export type {
  Alarm,
  AlarmChange,
  AlarmFilter,
  AlarmPage,
  AlarmSeverity,
  AlarmState,
  Alarms,
  AlarmWord,
} from "../alarms/alarms.ts";
export type {
  AgentProgress,
  ApprovalWord,
  DurableEvent,
  EndName,
  NotedEvent,
  Reason,
  Weighing,
} from "../calls/event.ts";
export type { RunFolders } from "../calls/run-folders.ts";
export type {
  Channel,
  ChannelState,
  Channels,
  DeadLetter,
  Delivered,
  Notice,
  NoticeType,
} from "../channels/channel.ts";
export type { ChannelsOptions, OpenChannels, WebhookSettings } from "../channels/open-channels.ts";
export { openRunFolders } from "./archive/folders.ts";
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
} from "./archive/runs.ts";
export type { Feed, FeedReader, FeedSubscription, ResetReason } from "./feed.ts";
export type { FeedEvent, FeedFilter } from "./feed-event.ts";
export type { Hooks } from "./hooks.ts";
export { progressWatcher } from "./progress.ts";
export type { Watcher } from "./watcher.ts";
