import type { ReactNode } from "react";
import type { AddresseesView, ApprovalView } from "../../api/approvals.ts";
import { actorText } from "../../kit/actor.ts";
import { Badge, StateBadge } from "../../kit/badge.tsx";
import { Card, Facts, Part } from "../../kit/card.tsx";
import { Hash } from "../../kit/copy.tsx";
import { Icon } from "../../kit/icons.tsx";
import { Text } from "../../kit/text.tsx";
import { Time, TimeLeft } from "../../kit/time.tsx";

/** Two whys, kept apart: ours, with rule and line; the agent's own, which nobody has checked. */
export function WhyAsked({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const { why, reason, risk_level, autonomy_level } = approval;
  const asking = why.filter(({ says }) => says !== "ALLOW");
  return (
    <Card title="Why">
      <div className="grid items-start gap-4 px-4 py-3 md:grid-cols-2">
        <Part label="Why you are asked">
          <ul className="grid gap-1.5">
            {(asking.length > 0 ? asking : why).map(({ rule, says, where }) => (
              <li key={`${rule} ${where}`} className="flex items-baseline gap-2">
                <Badge tone={says === "CONFIRM" ? "accent" : says === "RAISE" ? "high" : "neutral"}>
                  {words.get(says) ?? says}
                </Badge>
                <span className="min-w-0">
                  <Text className="font-medium">{rule}</Text>
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
        <Part
          label={
            <span className="inline-flex items-center gap-1.5">
              Why the agent asks <Badge tone="medium">unverified</Badge>
            </span>
          }
        >
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
      </div>
    </Card>
  );
}

const words = new Map([
  ["CONFIRM", "asks"],
  ["RAISE", "raises the risk"],
  ["ALLOW", "allows"],
  ["BLOCK", "blocks"],
  ["DENY", "denies"],
]);

/** Who may decide, and who has. Nothing is shown where one person's word is all it takes. */
export function Votes({ approval }: { readonly approval: ApprovalView }): ReactNode {
  const { routed, votes, quorum_left, decision, status } = approval;
  const said = decision === undefined ? votes : [...votes.filter(({ by }) => by !== decision.by), decision];
  const isOpenToAll = namesIn(routed.to) === "" && routed.escalate_to === undefined;
  if (routed.quorum < 2 && said.length === 0 && isOpenToAll) return null;
  return (
    <Card
      title="Who decides"
      actions={
        routed.quorum > 1 &&
        status === "pending" && (
          <Badge tone="accent">
            {routed.quorum - quorum_left} of {routed.quorum} agree
          </Badge>
        )
      }
    >
      <div className="grid gap-2 px-4 py-3">
        {namesIn(routed.to) !== "" && (
          <p>
            <Text>{namesIn(routed.to)}</Text>
          </p>
        )}
        <Escalation approval={approval} />
        {said.length > 0 && (
          <ul className="grid gap-1.5">
            {said.map((vote) => (
              <li key={`${vote.by} ${vote.at}`} className="flex flex-wrap items-baseline gap-x-2">
                <StateBadge state={vote.as} />
                <Text className="font-medium">{actorText(vote.by, vote.via)}</Text>
                {vote.on_behalf_of !== undefined && <Text className="text-ink-2">{`for ${vote.on_behalf_of}`}</Text>}
                <span className="text-ink-3">
                  <Time at={vote.at} />
                </span>
                {vote.reason !== undefined && <Text className="text-ink-2">{`“${vote.reason}”`}</Text>}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Card>
  );
}

/** Who else is asked when nobody answers, and whether they are. */
function Escalation({ approval: { routed, escalated_at, status } }: { readonly approval: ApprovalView }): ReactNode {
  const { escalate_at, escalate_to = {} } = routed;
  const others = namesIn(escalate_to) || "whoever decides";
  if (escalated_at !== undefined)
    return (
      <p className="text-ink-2">
        <Text className="text-ink">{others}</Text> may decide as well: nobody had, and they were asked{" "}
        <Time at={escalated_at} />.
      </p>
    );
  if (escalate_at === undefined || status !== "pending") return null;
  return (
    <p className="text-ink-2">
      Unanswered, it goes to <Text className="text-ink">{others}</Text> too, in <TimeLeft until={escalate_at} />.
    </p>
  );
}

function namesIn({ users = [], roles = [], groups = [] }: AddresseesView): string {
  return [...users, ...groups.map((group) => `group ${group}`), ...roles.map((role) => `any ${role}`)].join(", ");
}

/** What an auditor asks for; folded away from who decides. */
export function FinePrint({ approval }: { readonly approval: ApprovalView }): ReactNode {
  return (
    <details className="group rounded-lg border border-line bg-surface">
      <summary className="flex list-none items-center gap-1.5 px-4 py-2.5 text-ink-2">
        <span className="transition-transform group-open:rotate-90">
          <Icon name="right" size={13} />
        </span>
        Bound by
      </summary>
      <div className="border-t border-line px-4 py-3">
        <Facts
          rows={[
            ["Request", <Hash key="id" value={approval.approval_id} label="id" />],
            ["Binding", <Hash key="binding" value={approval.binding} />],
            ["Tool definition", <Hash key="definition" value={approval.definition} />],
            approval.preview_digest === undefined
              ? undefined
              : ["Preview shown", <Hash key="preview" value={approval.preview_digest} />],
            ["Policy", <Hash key="policy" value={approval.policy_version} label="version" />],
            ["Run", <Hash key="run" value={approval.refs.run} label="id" />],
            ["Trace", <Hash key="trace" value={approval.trace_id} label="id" />],
            [
              "Asked by",
              <Text key="by">
                {[approval.requested_by.agent, approval.requested_by.via].filter(Boolean).join(" via ")}
              </Text>,
            ],
          ]}
        />
      </div>
    </details>
  );
}
