import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import type { PolicyTest, SimulationView, VerdictChangeView } from "../../../../src/server/contract/policy.ts";
import { Icon } from "../../kit/icons.tsx";
import { Json } from "../../kit/json.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { Decision, Verdict, Warnings } from "./verdict.tsx";

export function Simulated({ simulation }: { readonly simulation: SimulationView }): ReactNode {
  const { replayed, changes, unknown_tools, past_is_cut, warnings } = simulation;
  const unknown = Object.entries(unknown_tools);
  const newFirst = useMemo(() => changes.toReversed(), [changes]);
  return (
    <div className="grid gap-3 py-3">
      <div className="grid gap-2 px-4">
        <p role="status">
          <b>
            {changes.length === 0
              ? "No verdict would change"
              : `${changes.length.toLocaleString("en")} of ${replayed.toLocaleString("en")} verdicts would change`}
          </b>
          {changes.length === 0 &&
            `: ${replayed.toLocaleString("en")} recorded calls would be decided as they are now.`}
        </p>
        {changes.length > 0 && <Moves changes={changes} />}
        {unknown.length > 0 && (
          <p className="text-ink-2">
            Not replayed, because nobody offers the tool any more:{" "}
            <Text>{unknown.map(([tool, count]) => `${tool} (${count})`).join(", ")}</Text>
          </p>
        )}
        {past_is_cut && <p className="text-ink-2">Rules that look back far were given only a part of the past.</p>}
        <Warnings warnings={warnings} />
      </div>
      {changes.length > 0 && (
        <div className="h-[32rem] border-t border-line">
          <VirtualList
            label="Verdicts that would change"
            rows={newFirst}
            keyOf={({ call_id }) => call_id}
            estimate={56}
            row={(change) => <Change change={change} />}
          />
        </div>
      )}
    </div>
  );
}

/** How many go from which verdict to which: the first thing to look at. */
function Moves({ changes }: { readonly changes: readonly VerdictChangeView[] }): ReactNode {
  const moves = new Map<string, number>();
  for (const { before, after } of changes) {
    const move = `${before.verdict} ${after.verdict}`;
    moves.set(move, (moves.get(move) ?? 0) + 1);
  }
  return (
    <ul className="flex flex-wrap gap-x-5 gap-y-1">
      {[...moves].map(([move, count]) => {
        const [before = "", after = ""] = move.split(" ");
        return (
          <li key={move} className="tabular inline-flex items-center gap-1.5">
            <b>{count.toLocaleString("en")}</b> <Verdict verdict={before} /> <Icon name="right" size={12} />
            <span className="sr-only">to</span> <Verdict verdict={after} />
          </li>
        );
      })}
    </ul>
  );
}

function Change({ change }: { readonly change: VerdictChangeView }): ReactNode {
  const { tool, action, before, after, at, requested_by, run_id, call_id } = change;
  return (
    <details className="group border-b border-line">
      <summary className="flex list-none flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 hover:bg-hover">
        <span className="text-ink-3 group-open:rotate-90">
          <Icon name="right" size={12} />
        </span>
        <Text className="min-w-0 flex-1 font-medium">{action === "default" ? tool : `${tool} ${action}`}</Text>
        <span className="inline-flex items-center gap-1.5">
          <Verdict verdict={before.verdict} /> <Icon name="right" size={12} />
          <span className="sr-only">to</span> <Verdict verdict={after.verdict} />
        </span>
        <span className="text-ink-3">
          <Time at={at} />
        </span>
      </summary>
      <div className="grid gap-3 bg-sunken px-4 pt-1 pb-4">
        <p className="text-ink-2">
          <Text>{requested_by.agent}</Text> in{" "}
          <Link to={`/runs/${encodeURIComponent(run_id)}`} className="text-accent underline">
            <Text className="mono">{run_id}</Text>
          </Link>
          , <span className="mono">{call_id}</span>
        </p>
        {change.edited && <p className="text-ink-2">A person had changed what was sent: this is what ran.</p>}
        <Json value={change.arguments} />
        <Decision decision={after} />
      </div>
    </details>
  );
}

export function Tested({ test }: { readonly test: PolicyTest }): ReactNode {
  const failed = test.results.filter(({ passed }) => !passed).length;
  return (
    <div className="grid gap-3 p-4">
      <p role="status">
        {test.results.length === 0 ? (
          <>
            The text is right. It has no expectations of its own: write them under <code className="mono">tests:</code>.
          </>
        ) : (
          <b>
            {failed === 0
              ? `All ${test.results.length} expectations hold`
              : `${failed} of ${test.results.length} expectations do not hold`}
          </b>
        )}
      </p>
      <Warnings warnings={test.warnings} />
      <ul className="grid gap-1">
        {test.results.map(({ name, passed, expected, decision, problem, where }) => (
          <li key={`${where ?? ""} ${name}`} className="flex flex-wrap items-center gap-2">
            <span className={passed ? "text-safe" : "text-critical"}>
              <Icon name={passed ? "check" : "cross"} size={14} />
            </span>
            <Text className="min-w-0">{name}</Text>
            {!passed && (
              <span className="inline-flex items-center gap-1.5 text-ink-2">
                expected <Verdict verdict={expected} />
                {decision !== undefined && (
                  <>
                    it is <Verdict verdict={decision.verdict} />
                  </>
                )}
                {problem !== undefined && <Text>{problem}</Text>}
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
