/** Problems that an operator should look at: the list, in a dialog of the top bar and on a page of its own. */

import type { AlarmPageView, AlarmView } from "@postern/core/contract";
import type { LinkProps } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { AuditAddress } from "../../address.ts";
import { ask, type Pages, plainSentence, useMay } from "../../api/index.ts";
import {
  Badge,
  Button,
  classNames,
  counted,
  EmptyState,
  Facts,
  Json,
  NotYet,
  number,
  Text,
  TextLink,
  Time,
} from "../../kit/index.ts";
import { BrakeButton, ChangedBy } from "../brakes.tsx";
import { ReasonDialog } from "../dialogs.tsx";
import { useAlarms } from "./use-alarms.ts";

const idOf = ({ alarm_id }: AlarmView): string => alarm_id;

export function AlarmsScreen(): ReactNode {
  return (
    <div className="mx-auto grid w-full max-w-3xl gap-4 p-4 lg:p-6">
      <AlarmList alarms={useAlarms()} />
    </div>
  );
}

type AlarmListProps = Readonly<{
  alarms: Pages<AlarmPageView, AlarmView>;
  /** Closes the dialog around it. */
  onClose?: () => void;
}>;

/** Resolved alarms are shown when a button asks for them. */
export function AlarmList({ alarms: { rows, error, again, more, hasMore }, onClose }: AlarmListProps): ReactNode {
  const [showsPast, setShowsPast] = useState(false);
  if (rows === undefined) return <NotYet error={error} again={again} rows={2} />;
  const current = rows.filter(({ state }) => state !== "resolved");
  const past = rows.filter(({ state }) => state === "resolved");
  return (
    <>
      {current.length === 0 && (
        <EmptyState title="No alarms">
          Repeated errors, servers that are down, unknown outcomes, expiring tokens, storms of requests, changed tools
          and channels that fail are shown here.
        </EmptyState>
      )}
      <ul className="grid gap-3 empty:hidden">
        {[...current, ...(showsPast ? past : [])].map((alarm) => (
          <AlarmItem key={idOf(alarm)} alarm={alarm} onLeave={onClose} />
        ))}
      </ul>
      {past.length > 0 && !showsPast && (
        <Button look="plain" className="justify-self-center" onClick={() => setShowsPast(true)}>
          Show {hasMore ? "" : `${number(past.length)} `}resolved
        </Button>
      )}
      {hasMore && (showsPast || past.length === 0) && (
        <Button look="plain" className="justify-self-center" onClick={more}>
          Show more
        </Button>
      )}
    </>
  );
}

/** What each kind means, and what to do about it. */
const meanings = new Map(
  Object.entries({
    tool_errors:
      "It fails each time it is called. Look at its last error under Tools. The alarm is resolved when a call of it succeeds.",
    auth_failed:
      "The service behind it refuses its credential: missing, wrong or expired. Set a new one. The alarm is resolved when a call of it succeeds.",
    server_down:
      "Its tools cannot be called. Postern connects again by itself, and the alarm is resolved then. Its last words are below and on its page.",
    outcome_unknown:
      "It may have happened or not, and the same call is refused. Look where it should have had its effect, then settle it. The alarm is resolved when each such call of the run is settled.",
    token_expiring:
      "Calls with this token are refused when it ends. Make a new one, hand it over, and revoke this one.",
    tool_changed:
      "A server offers another definition than the approved one. The tool cannot be called until you have compared the two under Tools.",
    channel_failed:
      "People may not get the notifications of this channel. Check its address and secret; requests can be decided here.",
    secret_in_payload:
      "Postern masked it before it was written, but its sender has it in the clear. Change the secret where it comes from.",
    audit_not_intact:
      "Something other than Postern changed the log. Keep a copy of the data folder as it is, then check the log under Audit.",
    approval_storm:
      "An agent may be asking in a loop. Look at its run; a rule or a remembered approval may be missing. While the agent is paused, its requests stay and can be decided together.",
    notification_storm:
      "More notifications were sent in an hour than are allowed, and the rest were stopped. Look at the run that sends them.",
    sign_in_failures:
      "Someone may be trying passwords. The audit log has the names that were tried; disable those that are not in use.",
  }),
);

const storeStopped = "Every call is refused until the disk works again and Postern is started again.";
const storeRefused =
  "Calls were refused because nothing could be written, most often because the disk is full. Make room: the next call that can be written goes through, and the alarm is resolved a minute later.";

function meaningOf({ kind, data }: AlarmView): string | undefined {
  if (kind !== "store_broken") return meanings.get(kind);
  return data["stopped"] === true ? storeStopped : storeRefused;
}

type AlarmItemProps = Readonly<{ alarm: AlarmView; onLeave: (() => void) | undefined }>;

function AlarmItem({ alarm, onLeave }: AlarmItemProps): ReactNode {
  const may = useMay();
  const [verb, setVerb] = useState<"ack" | "resolve">();
  const isOver = alarm.state === "resolved";
  const meaning = meaningOf(alarm);
  return (
    <li
      className={classNames(
        "grid gap-2.5 rounded-lg border border-line p-4",
        isOver ? "bg-sunken text-ink-2" : "bg-surface",
      )}
    >
      <div className="flex items-start justify-between gap-3">
        <Text lines className="font-medium">
          {plainSentence(alarm.summary)}
        </Text>
        <span className="flex shrink-0 gap-1.5">
          {alarm.state !== "open" && <Badge>{isOver ? "resolved" : "acknowledged"}</Badge>}
          <Badge tone={isOver ? "neutral" : alarm.severity === "critical" ? "critical" : "medium"}>
            {alarm.severity}
          </Badge>
        </span>
      </div>
      {meaning !== undefined && !isOver && <p className="text-ink-2">{meaning}</p>}
      <div className="flex flex-wrap items-center gap-4 empty:hidden">
        {placesOf(alarm)
          .filter(([, { to }]) => may("audit:read") || to !== "/audit/{-$event}")
          .map(([label, link]) => (
            <TextLink key={label} {...link} onClick={onLeave}>
              {label}
            </TextLink>
          ))}
        {alarm.kind === "approval_storm" && <BrakeButton kind="agent" name={String(alarm.data["agent"])} />}
      </div>
      <About alarm={alarm} />
      {may("alarms:write") && !isOver && (
        <div className="flex flex-wrap gap-2">
          {alarm.state === "open" && <Button onClick={() => setVerb("ack")}>Acknowledge…</Button>}
          <Button onClick={() => setVerb("resolve")}>Resolve…</Button>
        </div>
      )}
      {verb !== undefined && <ChangeDialog alarm={alarm} verb={verb} onClose={() => setVerb(undefined)} />}
    </li>
  );
}

type Place = readonly [label: string, link: LinkProps];

/** Where its cause is seen. */
function placesOf({ kind, data }: AlarmView): readonly Place[] {
  const { run, tool, server, call } = data;
  const places: Place[] = [];
  const add = (label: string, link: LinkProps): void => void places.push([label, link]);
  const isUnknown = kind === "outcome_unknown";
  if (kind === "approval_storm")
    add("Look at the requests", {
      ...{ to: "/approvals/{-$request}", params: { request: undefined }, search: { run_id: String(run) } },
    });
  if (typeof tool === "string" && kind === "tool_changed")
    add("Compare the definitions", { to: "/tools/{-$tool}", params: { tool }, search: { tab: "definition" } });
  else if (typeof tool === "string" && !isUnknown) add("Look at the tool", { to: "/tools/{-$tool}", params: { tool } });
  if (typeof run === "string")
    add(isUnknown ? "Look at the call" : "Look at its run", {
      ...{ to: "/runs/{-$run}", params: { run }, search: { call: isUnknown ? String(call) : undefined } },
    });
  if (typeof server === "string") add("Look at the server", { to: "/servers/{-$server}", params: { server } });
  if (kind === "channel_failed") add("Look at the channel", { to: "/needs" });
  if (kind === "token_expiring") add("Look at the tokens", { to: "/people/{-$tab}", params: { tab: "tokens" } });
  const events = logged.get(kind);
  if (events !== undefined)
    add("Look at the audit log", { to: "/audit/{-$event}", params: { event: undefined }, search: events });
  return places;
}

/** Whose cause the log has. */
const logged = new Map<string, AuditAddress>([
  ["sign_in_failures", { type: "operator.action.sign_in_failed" }],
  ["secret_in_payload", { type: "alarm.secret_in_payload" }],
  ["notification_storm", { type: "gate.storm_block" }],
  ["audit_not_intact", {}],
]);

function About({ alarm }: { readonly alarm: AlarmView }): ReactNode {
  const { kind, count, first_seen, last_seen, acked, resolved, data } = alarm;
  return (
    <details className="group">
      <summary className="text-ink-3">
        <Text>{kind}</Text> · {counted(count, "time")}, last <Time at={last_seen} />
      </summary>
      <div className="mt-2 grid gap-2">
        <Facts
          rows={{
            First: <Time at={first_seen} />,
            Acknowledged: acked && <ChangedBy change={acked} />,
            Resolved: resolved && <ChangedBy change={resolved} />,
          }}
        />
        {Object.keys(data).length > 0 && <Json value={data} />}
      </div>
    </details>
  );
}

type ChangeDialogProps = Readonly<{ alarm: AlarmView; verb: "ack" | "resolve"; onClose: () => void }>;

function ChangeDialog({ alarm, verb, onClose }: ChangeDialogProps): ReactNode {
  const isAck = verb === "ack";
  const word = isAck ? "Acknowledge" : "Resolve";
  return (
    <ReasonDialog
      title={`${word} this alarm`}
      word={word}
      label="What is done about it?"
      onSend={(reason) => ask(`POST /v1/alarms/{id}/${verb}`, { id: alarm.alarm_id, ...reason })}
      done={isAck ? "No more notifications of it until it is resolved." : "Resolved. It is raised again if it recurs."}
      onClose={onClose}
    >
      <Text lines className="font-medium">
        {plainSentence(alarm.summary)}
      </Text>
    </ReasonDialog>
  );
}
