import type { DecisionView as PolicyDecision, PolicyWarningView, ReasonView } from "@postern/core/contract";
import type { ReactNode } from "react";
import { classNames, Notice, RiskBadge, StateBadge, Text } from "../../kit/index.ts";

const refused = "It is refused; no approval can allow it.";
const meanings = new Map([
  ["ALLOW", "It runs."],
  ["CONFIRM", "It needs approval."],
  ["PREVIEW", "It only shows what it would do."],
  ["BLOCK", refused],
  ["DENY", refused],
]);

export function Verdict({ verdict }: { readonly verdict: string }): ReactNode {
  return <StateBadge state={verdict} />;
}

/** A decision and its reasons in order; those that gave the verdict are marked. */
export function Decision({ decision }: { readonly decision: PolicyDecision }): ReactNode {
  const { verdict, risk, reasons, missing_scope, observed } = decision;
  const deciding = decidingOf(decision);
  return (
    <div className="grid gap-3">
      <p className="flex flex-wrap items-center gap-2">
        <Verdict verdict={verdict} /> <RiskBadge risk={risk} />
        <span className="text-ink-2">{meanings.get(verdict)}</span>
      </p>
      {observed !== undefined && (
        <Notice tone="medium">The policy only observes: enforced, it would be {observed}.</Notice>
      )}
      {missing_scope !== undefined && (
        <p>
          It lacks the scope <Text className="mono">{missing_scope}</Text>.
        </p>
      )}
      <ol
        aria-label="What shaped it, in order"
        className="grid gap-px overflow-hidden rounded-md border border-line bg-line"
      >
        {reasons.map((reason, at) => (
          <li
            key={`${at} ${reason.rule}`}
            className={classNames(
              "flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5",
              deciding.has(reason) ? "bg-accent-tint" : "bg-surface",
            )}
          >
            <span className="tabular w-5 text-right text-ink-3">{at + 1}</span>
            <Text className="min-w-0 flex-1">{reason.rule}</Text>
            {reason.where !== undefined && <Text className="mono text-ink-2">{reason.where}</Text>}
            {deciding.has(reason) && <span className="font-medium text-accent">decides</span>}
            <Verdict verdict={reason.effect} />
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The reasons that give the verdict; only those with a line in a file, when there are any: these can be changed. */
function decidingOf({ verdict, reasons }: PolicyDecision): ReadonlySet<ReasonView> {
  const saying = reasons.filter(({ effect }) => effect === verdict);
  const written = saying.filter(({ where }) => where !== undefined);
  return new Set(written.length > 0 ? written : saying);
}

export function Warnings({ warnings }: { readonly warnings: readonly PolicyWarningView[] }): ReactNode {
  if (warnings.length === 0) return null;
  return (
    <Notice tone="medium">
      <ul className="grid gap-1">
        {warnings.map(({ code, message, where }) => (
          <li key={`${code} ${message} ${where ?? ""}`}>
            {where !== undefined && <Text className="mono">{`${where}: `}</Text>}
            <Text>{message}</Text>
          </li>
        ))}
      </ul>
    </Notice>
  );
}
