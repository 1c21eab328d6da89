/** What a policy text decides about recorded calls and requests that wait. Nothing is run or written. */

import type { PolicyTextView, SimulationView, VerdictGroupView } from "@postern/core/contract";
import { type ReactNode, useState } from "react";
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
  TextLink,
  Time,
  ToolName,
} from "../../kit/index.ts";
import { asInFile } from "./mistakes.ts";
import { Decision, Verdict } from "./verdict.tsx";

/** The text that was asked about, and the answer. */
export type Asked = { readonly text: string } & (
  | { readonly simulation: SimulationView }
  | { readonly problem: string }
);

const limits = [100, 1_000, 10_000].map((count) => [String(count), number(count)] as const);

type AskBarProps = Readonly<{
  document: PolicyTextView;
  text: string;
  onAsked: (asked: Asked) => void;
  children: ReactNode;
}>;

export function AskBar({ document, text, onAsked, children }: AskBarProps): ReactNode {
  const [limit, setLimit] = useState("1000");
  const [isBusy, setIsBusy] = useState(false);
  const simulate = async (): Promise<void> => {
    setIsBusy(true);
    const sent = { configuration: asInFile(document, text), limit: Number(limit) };
    const answer = await ask("POST /v1/policy/simulate", sent).then(
      (simulation) => ({ simulation }),
      (error: unknown) => ({ problem: sentenceOf(error) }),
    );
    onAsked({ text, ...answer });
    setIsBusy(false);
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button look="primary" icon="play" busy={isBusy} onClick={() => void simulate()}>
        Simulate
      </Button>
      <span className="flex items-center gap-2 text-ink-2">
        on what waits, and the last
        <Select aria-label="How many calls" className="w-auto" value={limit} options={limits} onChange={setLimit} />
        calls
      </span>
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
          This text decides about recorded calls and requests that wait. Nothing runs and nothing is written.
        </EmptyState>
      )}
      {asked !== undefined && "simulation" in asked && <Simulated simulation={asked.simulation} />}
      {asked !== undefined && "problem" in asked && (
        <div className="p-4">
          <ErrorNotice>{asked.problem}</ErrorNotice>
        </div>
      )}
    </Card>
  );
}

function Simulated({ simulation }: { readonly simulation: SimulationView }): ReactNode {
  const { replayed, changes, groups, waiting, unknown_tools, past_is_cut } = simulation;
  const unknown = Object.entries(unknown_tools).map(([tool, count]) => `${tool} (${count})`);
  const ofWaiting = waiting.groups.reduce((sum, { count }) => sum + count, 0);
  return (
    <div className="grid gap-4 py-3">
      {waiting.requests > 0 && (
        <Part title="Requests that wait" changed={ofWaiting} of={waiting.requests} groups={waiting.groups}>
          They stay open. One that would be denied does not run, even if it is approved.
          {waiting.is_cut && " More wait than were simulated."}
        </Part>
      )}
      <Part title="Recorded calls" changed={changes.length} of={replayed} groups={groups}>
        {unknown.length > 0 && (
          <>
            Not simulated, because the tool is not offered any more: <Text>{unknown.join(", ")}</Text>.
          </>
        )}
        {past_is_cut && " Rules that look far back were given only a part of the past."}
      </Part>
    </div>
  );
}

type PartProps = Readonly<{
  title: string;
  changed: number;
  of: number;
  groups: readonly VerdictGroupView[];
  children: ReactNode;
}>;

function Part({ title, changed, of, groups, children }: PartProps): ReactNode {
  return (
    <section className="grid gap-2">
      <div className="grid gap-1 px-4">
        <h3 className="label">{title}</h3>
        <p role="status" className="font-semibold">
          {changed === 0 ? `None of ${number(of)}` : `${number(changed)} of ${number(of)}`} verdicts would change
        </p>
        <p className="text-ink-2 empty:hidden">{children}</p>
      </div>
      <ul aria-label={title} className="border-t border-line empty:hidden">
        {groups.map((group) => (
          <li key={[group.tool, group.action, group.before, group.after].join(" ")}>
            <Group group={group} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Calls of one tool with the same change of verdict: how many, and why for the newest of them. */
function Group({ group: { count, before, after, example } }: { readonly group: VerdictGroupView }): ReactNode {
  const { tool, action, requested_by, run_id, at, approval_id } = example;
  return (
    <Disclosure
      className="border-b border-line"
      title={
        <>
          <span className="min-w-0 flex-1">
            <ToolName tool={tool} action={action} className="font-medium" />
          </span>
          <b className="tabular">{number(count)} ×</b>
          <span className="inline-flex items-center gap-1.5">
            <Verdict verdict={before} /> <Icon name="right" size={12} />
            <span className="sr-only">to</span> <Verdict verdict={after} />
          </span>
        </>
      }
    >
      <div className="grid gap-3 bg-sunken px-4 pt-1 pb-4">
        <p className="text-ink-2">
          The newest: <Time at={at} /> by <Text>{requested_by.agent}</Text> in <RunLink id={run_id} />
          {approval_id !== undefined && (
            <>
              {" · "}
              <TextLink to="/approvals/{-$request}" params={{ request: approval_id }}>
                Open the request
              </TextLink>
            </>
          )}
        </p>
        {example.edited && <p className="text-ink-2">A person edited the arguments: these are the ones that ran.</p>}
        <Json value={example.arguments} />
        <Decision decision={example.after} />
      </div>
    </Disclosure>
  );
}
