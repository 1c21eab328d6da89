import { storedEventIn } from "@postern/core";
import type { AuditEventView, EventProof } from "@postern/core/contract";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ask, plainSentence } from "../../api/index.ts";
import {
  actorText,
  Copy,
  Facts,
  Hash,
  Icon,
  Json,
  Notice,
  NotYet,
  Part,
  RiskBadge,
  RunLink,
  StateBadge,
  Text,
  TextLink,
  Time,
} from "../../kit/index.ts";
import { type Checked, checkProof } from "./proof.ts";

/** One event: what it says, where it is in the log, and whether it is what was signed. */
export function EventDetail({ seq }: { readonly seq: number }): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["audit-proof", seq],
    queryFn: async () => {
      const proof = await ask("GET /v1/audit/{seq}/proof", { seq: String(seq) });
      return { proof, checked: await checkProof(proof) };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={6} />;
  const { proof, checked } = data;
  const event = storedEventIn(proof.body) as AuditEventView | undefined; // the log holds nothing else
  if (event === undefined)
    return (
      <div className="p-4">
        <Notice>This entry is not an event: it was changed. Check the whole log.</Notice>
      </div>
    );
  return (
    <div className="grid gap-5 p-4">
      <div className="grid gap-1.5">
        <p className="flex flex-wrap items-center gap-2">
          <Text className="mono font-semibold">{event.type}</Text>
          {event.risk_level !== undefined && <RiskBadge risk={event.risk_level} />}
          <StateBadge state={event.outcome} />
        </p>
        <Text className="text-ink-2">{plainSentence(event.summary)}</Text>
      </div>
      <EventFacts event={event} />
      <Proof proof={proof} checked={checked} />
      <Part label="As it is kept" aside={<Copy text={proof.body} label="Copy the event" />}>
        <Json value={event} />
      </Part>
    </div>
  );
}

/** What this browser found when it checked that the event is in the log. */
function Proof({ proof, checked }: Readonly<{ proof: EventProof; checked: Checked }>): ReactNode {
  return (
    <Part label="In the log">
      <Notice tone={checked.holds ? "safe" : "critical"}>
        <p className="font-medium">
          {checked.holds
            ? "It is in the log, unchanged. This browser has checked it."
            : "It does not match what was signed. Check the whole log."}
        </p>
      </Notice>
      <ol className="mt-1 grid gap-1">
        {checked.steps.map(({ word, holds, more }) => (
          <li key={word} className="flex items-start gap-2">
            <span className={holds ? "mt-0.5 text-safe" : "mt-0.5 text-critical"}>
              <Icon name={holds ? "check" : "cross"} size={14} />
            </span>
            <span>
              {word}: {holds ? "valid" : "wrong"} <Text className="text-ink-3">{more}</Text>
            </span>
          </li>
        ))}
      </ol>
      <Facts
        rows={{
          Leaf: <Hash value={proof.leaf} label="leaf" />,
          Root: <Hash value={proof.root} label="root" />,
          "Signed by": <Hash value={proof.public_key} label="public key" />,
        }}
      />
    </Part>
  );
}

function EventFacts({ event }: { readonly event: AuditEventView }): ReactNode {
  const { timestamp, tool_name, action = "", principal, decided_by, decided_via, reason, verdict, code, refs } = event;
  const { run, approval } = refs;
  const user = principal?.user === undefined ? "" : `, for ${principal.user}`;
  return (
    <Facts
      rows={{
        When: <Time at={timestamp} isExact />,
        Tool: tool_name && <Text>{`${tool_name} ${action}`}</Text>,
        Agent: principal && <Text>{`${principal.agent}${user}`}</Text>,
        By: decided_by && <Text>{actorText(decided_by, decided_via)}</Text>,
        Reason: reason && <Text>{reason}</Text>,
        Verdict: verdict,
        Code: code && <Text className="mono">{code}</Text>,
        Run: run && <RunLink id={run} />,
        Approval: approval && (
          <TextLink to="/approvals/{-$request}" params={{ request: approval }}>
            <Text className="mono">{approval}</Text>
          </TextLink>
        ),
        Trace: <Hash value={event.trace_id} label="trace id" />,
      }}
    />
  );
}
