/**
 * `postern/observe`: hooks, progress, metrics, the event feed, run folders, alarms and notification channels.
 *
 * @packageDocumentation
 */

export type {
  AgentProgress,
  ApprovalEndName as ApprovalWord,
  DurableEvent,
  EndName,
  NotedEvent,
  Reason,
  Watcher,
  Weighing,
} from "@postern/core";
export type { RunFolders } from "../system/run-folders.ts";
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
export type { Feed, FeedReader, FeedSubscription, ResetReason } from "./feed.ts";
export type { FeedEvent, FeedFilter } from "./feed-event.ts";
export type { Hooks } from "./hooks.ts";
export type { Metrics } from "./metrics/metrics.ts";
export type {
  Channel,
  ChannelState,
  Channels,
  DeadLetter,
  Delivered,
  Notice,
  NoticeType,
} from "./notify/channel.ts";
export type { ChannelsOptions, OpenChannels, WebhookSettings } from "./notify/open-channels.ts";
export { progressWatcher } from "./progress.ts";
export { openRunFolders } from "./runs/folders.ts";
export type {
  Governance,
  GovernanceReason,
  RunAbout,
  RunCounts,
  RunEvent,
  RunFilter,
  RunName,
  RunPage,
  RunState,
  RunSummary,
  Runs,
  ToolRecord,
} from "./runs/runs.ts";
