import { reasonWords } from "@postern/core";
import type { ReactNode } from "react";
import type { AddresseesView, ApprovalView } from "../../api/index.ts";
import {
  actorText,
  Badge,
  Button,
  Card,
  Diff,
  Disclosure,
  Facts,
  Hash,
  hunks,
  mostInControl,
  Notice,
  Part,
  StateBadge,
  Text,
  Time,
  TimeLeft,
} from "../../kit/index.ts";

type CardPartProps = Readonly<{ approval: ApprovalView }>;

/** Two reasons, kept apart: the policy's, with rule and line, and the agent's own, which is not checked. */
export function WhyAsked({ approval }: CardPartProps): ReactNode {
  const { why, reason, risk_level, autonomy_level } = approval;
  const asking = why.filter(({ effect }) => effect !== "ALLOW");
  const agentLabel = (
    <span className="inline-flex items-center gap-1.5">
      Why the agent asks <Badge tone="medium">unverified</Badge>
    </span>
  );
  return (
    <Card title="Why" body="grid items-start gap-4 md:grid-cols-2">
      <Part label="Why you are asked">
        <ul className="grid gap-1.5">
          {(asking.length > 0 ? asking : why).map(({ rule, effect, where }) => (
            <li key={`${rule} ${where}`} className="flex items-baseline gap-2">
              <StateBadge state={effect} />
              <span className="min-w-0">
                <Text className="font-medium">{reasonWords({ rule, effect })}</Text>
                {where !== undefined && <Text className="mono text-ink-3">{` ${where}`}</Text>}
              </span>
            </li>
          ))}
        </ul>
        <p className="text-ink-3">
          Risk {risk_level}
          {autonomy_level !== undefined && `, agents at autonomy ${autonomy_level}`}.
        </p>
      </Part>
      <Part label={agentLabel}>
        {reason === undefined ? (
          <p className="text-ink-3">It gave no reason.</p>
        ) : (
          <blockquote className="border-l-2 border-medium pl-3 text-ink-2">
            <Text lines limit={4_000}>
              {reason}
            </Text>
          </blockquote>
        )}
      </Part>
    </Card>
  );
}

/** Who may decide, and who has. Left out when any one person decides. */
export function Votes({ approval }: CardPartProps): ReactNode {
  const { routed, votes, quorum_left, decision, status } = approval;
  const cast = decision === undefined ? votes : [...votes.filter(({ by }) => by !== decision.by), decision];
  const isOpenToAll = namesIn(routed.to) === "" && routed.escalate_to === undefined;
  if (routed.quorum < 2 && cast.length === 0 && isOpenToAll) return null;
  const progress = routed.quorum > 1 && status === "pending" && (
    <Badge tone="accent">
      {routed.quorum - quorum_left} of {routed.quorum} approve
    </Badge>
  );
  return (
    <Card title="Who decides" actions={progress} body="grid gap-2">
      {namesIn(routed.to) !== "" && <Text>{namesIn(routed.to)}</Text>}
      <Escalation approval={approval} />
      {cast.length > 0 && (
        <ul className="grid gap-1.5">
          {cast.map((vote) => (
            <li key={`${vote.by} ${vote.at}`} className="flex flex-wrap items-baseline gap-x-2">
              <StateBadge state={vote.as} />
              <Text className="font-medium">{actorText(vote.by, vote.via)}</Text>
              <span className="text-ink-3">
                <Time at={vote.at} />
              </span>
              {vote.reason !== undefined && <Text className="text-ink-2">{`“${vote.reason}”`}</Text>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** Who else is asked when the request is not decided in time. */
function Escalation({ approval: { routed, escalated_at, status } }: CardPartProps): ReactNode {
  const { escalate_at, escalate_to = {} } = routed;
  const others = namesIn(escalate_to) || "all who decide";
  if (escalated_at !== undefined)
    return (
      <p className="text-ink-2">
        <Text className="text-ink">{others}</Text> may decide as well: they were asked <Time at={escalated_at} />,
        because it was not decided.
      </p>
    );
  if (escalate_at === undefined || status !== "pending") return null;
  return (
    <p className="text-ink-2">
      If it is not decided in <TimeLeft until={escalate_at} />, <Text className="text-ink">{others}</Text> may decide as
      well.
    </p>
  );
}

function namesIn({ users = [], roles = [], groups = [] }: AddresseesView): string {
  return [...users, ...groups.map((group) => `group ${group}`), ...roles.map((role) => `any ${role}`)].join(", ");
}

/** For auditors: what an approval is bound to. */
export function Fingerprints({ approval }: CardPartProps): ReactNode {
  const { approval_id, binding, definition, preview_digest, policy_version, refs, trace_id, requested_by } = approval;
  return (
    <Disclosure title="Fingerprints" className="rounded-lg border border-line bg-surface text-ink-2">
      <div className="border-t border-line px-4 py-3 text-ink">
        <Facts
          rows={{
            Request: <Hash value={approval_id} label="id" />,
            Binding: <Hash value={binding} />,
            "Tool definition": <Hash value={definition} />,
            "Preview shown": preview_digest && <Hash value={preview_digest} />,
            Policy: <Hash value={policy_version} label="version" />,
            Run: <Hash value={refs.run} label="id" />,
            Trace: <Hash value={trace_id} label="id" />,
            "Asked by": <Text>{[requested_by.agent, requested_by.via].filter(Boolean).join(" via ")}</Text>,
          }}
        />
      </div>
    </Disclosure>
  );
}

type ChangedNoticeProps = Readonly<{ before: ApprovalView; now: ApprovalView; onUnderstood: () => void }>;

/** What changed since the person looked. Nothing can be decided before they acknowledge it. */
export function ChangedNotice({ before, now, onUnderstood }: ChangedNoticeProps): ReactNode {
  const [old = "", fresh = ""] = [before, now].map(({ what }) => JSON.stringify(what.arguments, null, 2));
  return (
    <Notice tone="medium">
      <div className="grid justify-items-start gap-2">
        <p>
          This request changed while you looked at it. What you see now is what would run
          {before.risk_level !== now.risk_level && `; its risk was ${before.risk_level} and is ${now.risk_level} now`}
          {JSON.stringify(before.routed) !== JSON.stringify(now.routed) && "; others decide now"}
          {old === fresh && before.preview_digest !== now.preview_digest && "; the preview changed"}.
        </p>
        {old !== fresh && old.length + fresh.length < mostInControl && (
          <div className="max-h-48 w-full overflow-y-auto text-ink">
            <Diff text={hunks(old, fresh)} />
          </div>
        )}
        <Button size="small" onClick={onUnderstood}>
          Understood
        </Button>
      </div>
    </Notice>
  );
}
