import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { type AlarmChangeView, type AlarmView, settleAlarm } from "../api/alarms.ts";
import { useMay } from "../api/session.ts";
import { typed } from "../api/typed.ts";
import { actorText } from "../kit/actor.ts";
import { Badge } from "../kit/badge.tsx";
import { Button } from "../kit/button.tsx";
import { Facts } from "../kit/card.tsx";
import { classNames } from "../kit/class-names.ts";
import { Json } from "../kit/json.tsx";
import { Text } from "../kit/text.tsx";
import { Time } from "../kit/time.tsx";
import { toast } from "../kit/toast.tsx";
import { ReasonDialog } from "../screens/reason-dialog.tsx";

/** What each kind means, and what to do about it. */
const meanings = new Map([
  [
    "tool_errors",
    "It fails each time it is called. Look at its last error under Tools; it is over when a call of it succeeds.",
  ],
  [
    "auth_failed",
    "It is not let in where it works: a credential is missing, wrong or over. Put a new one in; it is over when a call of it succeeds.",
  ],
  [
    "token_expiring",
    "Whoever uses this token will be refused when it ends. Make a new one, hand it over, and revoke this one.",
  ],
  [
    "tool_changed",
    "A server offers another definition than the one that was approved. The tool is not called until you have compared the two under Tools.",
  ],
  [
    "channel_failed",
    "People may not hear of requests over this channel. Check its address and secret; what waits here can be decided here.",
  ],
  [
    "secret_in_payload",
    "Postern masked it before it was written, but whoever sent it holds it in the clear. Change the secret where it comes from.",
  ],
  [
    "audit_not_intact",
    "Something changed the log that was not Postern. Keep a copy of the data folder as it is, then check the log under Audit.",
  ],
  ["approval_storm", "An agent may be asking in a loop. Look at its run; a rule or a remembered yes may be missing."],
  ["notification_storm", "More notifications than an hour may have were stopped. Look at the run that sends them."],
  [
    "sign_in_failures",
    "Somebody may be trying passwords. The audit log says at which names; disable those that are not in use.",
  ],
]);

const storeStopped = "Every call is refused until the disk works again and Postern is started anew.";
const storeRefused =
  "Calls were refused because nothing could be written, most often because the disk is full. Make room: the next one that can be written goes through, and the alarm is over a minute later.";

function meaningOf({ kind, data }: AlarmView): string | undefined {
  if (kind !== "store_broken") return meanings.get(kind);
  return data["stopped"] === true ? storeStopped : storeRefused;
}

export function AlarmItem({
  alarm,
  onLeave,
}: {
  readonly alarm: AlarmView;
  readonly onLeave?: (() => void) | undefined;
}): ReactNode {
  const may = useMay();
  const [said, setSaid] = useState<"ack" | "resolve">();
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
          {typed(alarm.summary)}
        </Text>
        <span className="flex shrink-0 gap-1.5">
          {alarm.state !== "open" && <Badge>{alarm.state === "acked" ? "known" : "over"}</Badge>}
          <Badge tone={isOver ? "neutral" : alarm.severity === "critical" ? "critical" : "medium"}>
            {alarm.severity}
          </Badge>
        </span>
      </div>
      {meaning !== undefined && !isOver && <p className="text-ink-2">{meaning}</p>}
      <ItsRun run={alarm.data["run"]} onLeave={onLeave} />
      <About alarm={alarm} />
      {may("alarms:write") && !isOver && (
        <div className="flex flex-wrap gap-2">
          {alarm.state === "open" && <Button onClick={() => setSaid("ack")}>I know…</Button>}
          <Button onClick={() => setSaid("resolve")}>It is over…</Button>
        </div>
      )}
      {said !== undefined && <Say alarm={alarm} verb={said} onClose={() => setSaid(undefined)} />}
    </li>
  );
}

/** Where to look first, of what a call raised. */
function ItsRun({ run, onLeave }: { readonly run: unknown; readonly onLeave: (() => void) | undefined }): ReactNode {
  if (typeof run !== "string") return null;
  return (
    <Link
      to="/runs/$id"
      params={{ id: run }}
      onClick={() => onLeave?.()}
      className="justify-self-start text-accent underline"
    >
      Look at its run
    </Link>
  );
}

/** Since when, how often, whose word it has, and what it was raised from. */
function About({ alarm }: { readonly alarm: AlarmView }): ReactNode {
  const { kind, count, first_seen, last_seen, acked, resolved, data } = alarm;
  return (
    <details className="group">
      <summary className="text-ink-3">
        <Text>{kind}</Text> · {count === 1 ? "once" : `${count.toLocaleString("en")} times`}, last{" "}
        <Time at={last_seen} />
      </summary>
      <div className="mt-2 grid gap-2">
        <Facts
          rows={[
            ["First", <Time key="first" at={first_seen} />],
            acked === undefined ? undefined : ["Known", <Word key="acked" word={acked} />],
            resolved === undefined ? undefined : ["Over", <Word key="resolved" word={resolved} />],
          ]}
        />
        {Object.keys(data).length > 0 && <Json value={data} />}
      </div>
    </details>
  );
}

function Word({ word: { by, via, at, reason } }: { readonly word: AlarmChangeView }): ReactNode {
  return (
    <span>
      <Time at={at} />{" "}
      {by === undefined ? (
        "by itself"
      ) : (
        <>
          by <Text>{actorText(by, via)}</Text>
        </>
      )}
      {reason !== undefined && <Text className="text-ink-2">{`: “${reason}”`}</Text>}
    </span>
  );
}

function Say({
  alarm,
  verb,
  onClose,
}: {
  readonly alarm: AlarmView;
  readonly verb: "ack" | "resolve";
  readonly onClose: () => void;
}): ReactNode {
  const isAck = verb === "ack";
  return (
    <ReasonDialog
      title={isAck ? "You know of it" : "It is over"}
      word={isAck ? "I know" : "It is over"}
      label="What is done about it?"
      onSend={async (said) => {
        await settleAlarm(alarm.alarm_id, verb, said);
        toast(
          isAck ? "Nobody is told of it again until it is over." : "Over. It is raised anew if its cause comes again.",
        );
      }}
      onClose={onClose}
    >
      <Text lines className="font-medium">
        {typed(alarm.summary)}
      </Text>
    </ReasonDialog>
  );
}
