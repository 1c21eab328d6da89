import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { AuditEventView, EventProof } from "../../../../src/server/contract/audit.ts";
import { get } from "../../api/client.ts";
import { actorText } from "../../kit/actor.ts";
import { RiskBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { Facts, Part } from "../../kit/card.tsx";
import { Copy, Hash } from "../../kit/copy.tsx";
import { Icon } from "../../kit/icons.tsx";
import { Json } from "../../kit/json.tsx";
import { EmptyState, Notice, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { OutcomeBadge } from "./event-row.tsx";
import { type Checked, checkProof } from "./proof.ts";

/** One event: what it says, where it stands, and whether it is what was signed. */
export function EventDetail({
  seq,
  onClose,
}: {
  readonly seq: number | undefined;
  readonly onClose: () => void;
}): ReactNode {
  if (seq === undefined)
    return (
      <aside aria-label="Event" className="border-line max-lg:hidden lg:border-l">
        <EmptyState icon="audit" title="Choose an event">
          Its text as it is kept, and the proof that it is in the log.
        </EmptyState>
      </aside>
    );
  return (
    <aside
      aria-label={`Event ${seq}`}
      className="min-h-0 overflow-y-auto border-line bg-canvas max-lg:fixed max-lg:inset-0 max-lg:z-30 lg:border-l"
    >
      <header className="sticky top-0 flex items-center justify-between border-b border-line bg-surface px-4 py-2">
        <h2 className="tabular font-semibold">Event #{seq}</h2>
        <Button look="plain" size="small" icon="cross" aria-label="Close" onClick={onClose} />
      </header>
      <Event seq={seq} />
    </aside>
  );
}

function Event({ seq }: { readonly seq: number }): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["audit-proof", seq],
    queryFn: async () => {
      const proof = await get<EventProof>(`/v1/audit/${seq}/proof`);
      return { proof, checked: await checkProof(proof) };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={6} />;
  const { proof, checked } = data;
  const event = eventIn(proof.body);
  if (event === undefined)
    return (
      <div className="p-4">
        <Notice>What is kept here is no event: somebody changed it. Check the whole log.</Notice>
      </div>
    );
  return (
    <div className="grid gap-5 p-4">
      <div className="grid gap-1.5">
        <p className="flex flex-wrap items-center gap-2">
          <Text className="mono font-semibold">{event.type}</Text>
          {event.risk_level !== undefined && <RiskBadge risk={event.risk_level} />}
          <OutcomeBadge outcome={event.outcome} />
        </p>
        <Text className="text-ink-2">{event.summary}</Text>
      </div>
      <EventFacts event={event} />
      <Place proof={proof} checked={checked} />
      <Part label="As it is kept" aside={<Copy text={proof.body} label="Copy the event" />}>
        <Json value={event} />
      </Part>
    </div>
  );
}

/** Where it stands in the log, and what this browser found when it checked that. */
function Place({ proof, checked }: { readonly proof: EventProof; readonly checked: Checked }): ReactNode {
  return (
    <Part label="In the log">
      {checked.holds ? (
        <Notice tone="safe">
          <p className="font-medium">It is in the log, unchanged. This browser has checked it.</p>
        </Notice>
      ) : (
        <Notice>
          <p className="font-medium">It does not fit what was signed. Check the whole log.</p>
        </Notice>
      )}
      <ol className="mt-1 grid gap-1">
        {checked.steps.map(({ word, holds, more }) => (
          <li key={word} className="flex items-start gap-2">
            <span className={holds ? "mt-0.5 text-safe" : "mt-0.5 text-critical"}>
              <Icon name={holds ? "check" : "cross"} size={14} />
            </span>
            <span>
              {word}: {holds ? "right" : "wrong"} <Text className="text-ink-3">{more}</Text>
            </span>
          </li>
        ))}
      </ol>
      <Facts
        rows={[
          ["Leaf", <Hash key="leaf" value={proof.leaf} label="leaf" />],
          ["Root", <Hash key="root" value={proof.root} label="root" />],
          ["Signed by", <Hash key="key" value={proof.public_key} label="public key" />],
        ]}
      />
    </Part>
  );
}

function EventFacts({ event }: { readonly event: AuditEventView }): ReactNode {
  const { refs, principal } = event;
  const run = refs["run"];
  const approval = refs["approval"];
  return (
    <Facts
      rows={[
        ["When", <Time key="at" at={event.timestamp} />],
        event.tool_name === undefined
          ? undefined
          : ["Tool", <Text key="tool">{`${event.tool_name} ${event.action ?? ""}`}</Text>],
        principal === undefined
          ? undefined
          : [
              "Agent",
              <Text key="agent">{`${principal.agent}${principal.user === undefined ? "" : `, for ${principal.user}`}`}</Text>,
            ],
        event.decided_by === undefined
          ? undefined
          : ["By", <Text key="by">{actorText(event.decided_by, event.decided_via)}</Text>],
        event.reason === undefined ? undefined : ["Reason", <Text key="reason">{event.reason}</Text>],
        event.verdict === undefined ? undefined : ["Verdict", event.verdict],
        event.code === undefined
          ? undefined
          : [
              "Code",
              <Text key="code" className="mono">
                {event.code}
              </Text>,
            ],
        run === undefined
          ? undefined
          : [
              "Run",
              <Link key="run" to={`/runs/${encodeURIComponent(run)}`} className="text-accent underline">
                <Text className="mono">{run}</Text>
              </Link>,
            ],
        approval === undefined
          ? undefined
          : [
              "Approval",
              <Link key="approval" to={`/approvals/${encodeURIComponent(approval)}`} className="text-accent underline">
                <Text className="mono">{approval}</Text>
              </Link>,
            ],
        ["Trace", <Hash key="trace" value={event.trace_id} label="trace id" />],
      ]}
    />
  );
}

function eventIn(body: string): AuditEventView | undefined {
  try {
    return JSON.parse(body) as AuditEventView; // the log holds nothing but these, unless somebody changed it
  } catch {
    return undefined; // said where it is shown
  }
}
