/** What a policy text decides about recorded calls, and the results of its own tests. Nothing is run or written. */

import type { PolicyTest, PolicyTextView, SimulationView, VerdictChangeView } from "@postern/core/contract";
import { type ReactNode, useMemo, useState } from "react";
import { ask, sentenceOf } from "../../api/index.ts";
import {
  Button,
  Card,
  Disclosure,
  EmptyState,
  ErrorNotice,
  Icon,
  Json,
  number,
  RunLink,
  Select,
  Text,
  Time,
  ToolName,
  VirtualList,
} from "../../kit/index.ts";
import { Decision, Verdict, Warnings } from "./verdict.tsx";

/** The text that was asked about, and the answer. */
export type Asked = { readonly text: string } & (
  | { readonly simulation: SimulationView }
  | { readonly test: PolicyTest }
  | { readonly problem: string }
);

const limits = [100, 1_000, 10_000].map((count) => [String(count), number(count)] as const);

type AskBarProps = Readonly<{
  document: PolicyTextView;
  text: string;
  onAsked: (asked: Asked) => void;
  children: ReactNode;
}>;

export function AskBar({ document: { name, line }, text, onAsked, children }: AskBarProps): ReactNode {
  const [limit, setLimit] = useState("1000");
  const [isBusy, setIsBusy] = useState(false);
  // As many lines before it as in the file: rules and mistakes are named by their line.
  const configuration = { name, text: "\n".repeat(line - 1) + text };
  const run = async (question: () => Promise<object>): Promise<void> => {
    setIsBusy(true);
    const answer = await question().catch((error: unknown) => ({ problem: sentenceOf(error) }));
    onAsked({ text, ...answer } as Asked); // each question makes one of the three
    setIsBusy(false);
  };
  const simulate = async (): Promise<object> => ({
    simulation: await ask("POST /v1/policy/simulate", { configuration, limit: Number(limit) }),
  });
  const test = async (): Promise<object> => ({ test: await ask("POST /v1/policy/test", { configuration }) });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button look="primary" icon="play" busy={isBusy} onClick={() => void run(simulate)}>
        Simulate
      </Button>
      <span className="flex items-center gap-2 text-ink-2">
        on the last
        <Select aria-label="How many calls" className="w-auto" value={limit} options={limits} onChange={setLimit} />
        calls
      </span>
      <Button busy={isBusy} onClick={() => void run(test)}>
        Run its tests
      </Button>
      <span className="ml-auto flex gap-2">{children}</span>
    </div>
  );
}

type AskedResultProps = Readonly<{
  asked: Asked | undefined;
  /** As it is now: an answer about an older text says so. */
  text: string;
}>;

export function AskedResult({ asked, text }: AskedResultProps): ReactNode {
  return (
    <Card title="What it would change">
      {asked !== undefined && asked.text !== text && (
        <p className="border-b border-line px-4 py-2 text-medium">The text has changed since this result.</p>
      )}
      {asked === undefined && (
        <EmptyState icon="policy" title="Not simulated yet">
          This text decides about recorded calls. Nothing runs and nothing is written.
        </EmptyState>
      )}
      {asked !== undefined && "simulation" in asked && <Simulated simulation={asked.simulation} />}
      {asked !== undefined && "test" in asked && <Tested test={asked.test} />}
      {asked !== undefined && "problem" in asked && (
        <div className="p-4">
          <ErrorNotice>{asked.problem}</ErrorNotice>
        </div>
      )}
    </Card>
  );
}

function Simulated({ simulation }: { readonly simulation: SimulationView }): ReactNode {
  const { replayed, changes, unknown_tools, past_is_cut, warnings } = simulation;
  const unknown = Object.entries(unknown_tools).map(([tool, count]) => `${tool} (${count})`);
  const newFirst = useMemo(() => changes.toReversed(), [changes]);
  return (
    <div className="grid gap-3 py-3">
      <div className="grid gap-2 px-4">
        {changes.length === 0 ? (
          <p role="status">
            <b>No verdict would change</b>: {number(replayed)} recorded calls would be decided as they are now.
          </p>
        ) : (
          <p role="status">
            <b>
              {number(changes.length)} of {number(replayed)} verdicts would change
            </b>
          </p>
        )}
        <Moves changes={changes} />
        {unknown.length > 0 && (
          <p className="text-ink-2">
            Not replayed, because the tool is not offered any more: <Text>{unknown.join(", ")}</Text>
          </p>
        )}
        {past_is_cut && <p className="text-ink-2">Rules that look far back were given only a part of the past.</p>}
        <Warnings warnings={warnings} />
      </div>
      {changes.length > 0 && (
        <div className="h-[32rem] border-t border-line">
          <VirtualList
            label="Verdicts that would change"
            rows={newFirst}
            keyOf={callIdOf}
            estimate={56}
            row={(change) => <Change change={change} />}
          />
        </div>
      )}
    </div>
  );
}

const callIdOf = ({ call_id }: VerdictChangeView): string => call_id;

/** How many change from which verdict to which. */
function Moves({ changes }: { readonly changes: readonly VerdictChangeView[] }): ReactNode {
  const moves = Map.groupBy(changes, ({ before, after }) => `${before.verdict} ${after.verdict}`);
  return (
    <ul className="flex flex-wrap gap-x-5 gap-y-1 empty:hidden">
      {[...moves].map(([move, made]) => {
        const [before = "", after = ""] = move.split(" ");
        return (
          <li key={move} className="tabular inline-flex items-center gap-1.5">
            <b>{number(made.length)}</b> <Move before={before} after={after} />
          </li>
        );
      })}
    </ul>
  );
}

function Move({ before, after }: { readonly before: string; readonly after: string }): ReactNode {
  return (
    <span className="inline-flex items-center gap-1.5">
      <Verdict verdict={before} /> <Icon name="right" size={12} />
      <span className="sr-only">to</span> <Verdict verdict={after} />
    </span>
  );
}

function Change({ change }: { readonly change: VerdictChangeView }): ReactNode {
  const { tool, action, before, after, at, requested_by, run_id, call_id } = change;
  return (
    <Disclosure
      className="border-b border-line"
      title={
        <>
          <span className="min-w-0 flex-1">
            <ToolName tool={tool} action={action} className="font-medium" />
          </span>
          <Move before={before.verdict} after={after.verdict} />
          <span className="text-ink-3">
            <Time at={at} />
          </span>
        </>
      }
    >
      <div className="grid gap-3 bg-sunken px-4 pt-1 pb-4">
        <p className="text-ink-2">
          <Text>{requested_by.agent}</Text> in <RunLink id={run_id} />, <span className="mono">{call_id}</span>
        </p>
        {change.edited && <p className="text-ink-2">A person edited the arguments: these are the ones that ran.</p>}
        <Json value={change.arguments} />
        <Decision decision={after} />
      </div>
    </Disclosure>
  );
}

function Tested({ test: { results, warnings } }: { readonly test: PolicyTest }): ReactNode {
  const failed = results.filter(({ passed }) => !passed).length;
  return (
    <div className="grid gap-3 p-4">
      <p role="status">
        {results.length === 0 && (
          <>
            The text is valid. It has no tests of its own: write them under <code className="mono">tests:</code>.
          </>
        )}
        {results.length > 0 && (
          <b>{failed === 0 ? `All ${results.length} tests pass` : `${failed} of ${results.length} tests fail`}</b>
        )}
      </p>
      <Warnings warnings={warnings} />
      <ul className="grid gap-1">
        {results.map(({ name, passed, expected, decision, problem, where }) => (
          <li key={`${where ?? ""} ${name}`} className="flex flex-wrap items-center gap-2">
            <span className={passed ? "text-safe" : "text-critical"}>
              <Icon name={passed ? "check" : "cross"} size={14} />
            </span>
            <Text className="min-w-0">{name}</Text>
            {!passed && (
              <span className="inline-flex items-center gap-1.5 text-ink-2">
                expected <Verdict verdict={expected} />
                {decision !== undefined && "it is "}
                {decision !== undefined && <Verdict verdict={decision.verdict} />}
                {problem !== undefined && <Text>{problem}</Text>}
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
