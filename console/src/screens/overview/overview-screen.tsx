import { autonomies } from "@postern/core";
import type { EffectiveLineView } from "@postern/core/contract";
import { useQueries } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { rangeNames } from "../../address.ts";
import { type ApprovalView, ask, type Sent, useControls, useMay } from "../../api/index.ts";
import { Card, NotYet, number, Text, TextLink, TimeLeft, Toggle, useIsOver } from "../../kit/index.ts";
import { useLiveState } from "../../live/feed.ts";
import { ByRisk } from "../approvals/by-risk.tsx";
import { totalOf, useRequests, useWaiting } from "../approvals/requests.ts";
import { BrakeButton } from "../brakes.tsx";
import { ReasonDialog } from "../dialogs.tsx";
import { ranges, useStatistics } from "../tools/use-tools.ts";
import { CallsOverTime, Decisions, LineTable } from "./figures.tsx";

const route = getRouteApi("/overview");

export function OverviewScreen(): ReactNode {
  const { range = "day" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch } = useStatistics(range);
  const { word, unit } = ranges[range];
  // The first hour of a range counts whole.
  const during =
    range === "hour" && data !== undefined
      ? `since ${new Date(data.from).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`
      : `in the ${word}`;
  return (
    <div className="mx-auto grid max-w-6xl gap-4 p-4 lg:grid-cols-2 lg:p-6">
      <Waiting />
      <ControlsCard />
      <fieldset className="flex flex-wrap gap-1 lg:col-span-2">
        <legend className="sr-only">Range of the numbers below</legend>
        {rangeNames.map((name) => (
          <Toggle
            key={name}
            isOn={name === range}
            onClick={() => void navigate({ to: ".", search: { range: name }, replace: true })}
          >
            {`The ${ranges[name].word}`}
          </Toggle>
        ))}
      </fieldset>
      {data === undefined && <NotYet error={error} again={refetch} />}
      {data !== undefined && (
        <>
          <Card title={`Calls ${unit}, in the ${word}`} className="lg:col-span-2" body="">
            <CallsOverTime statistics={data} range={range} />
          </Card>
          <Card title={`Tools by calls ${during}`} className="lg:col-span-2">
            <LineTable
              of="Tool"
              label="Tools, the busiest first"
              lines={data.tools}
              since={data.from}
              nothing={`No tool has been called ${during}`}
            />
          </Card>
          <Card title={`Agents by calls ${during}`} className="lg:col-span-2">
            <LineTable
              of="Agent"
              label="Agents, the busiest first"
              lines={data.agents}
              since={data.from}
              nothing={`No agent has called a tool ${during}`}
            />
          </Card>
          <Card title={`Decisions ${during}`} className="lg:col-span-2" body="grid gap-2">
            <Decisions statistics={data} during={during} />
          </Card>
        </>
      )}
    </div>
  );
}

function Waiting(): ReactNode {
  const first = useRequests({}).rows?.[0];
  const waiting = useWaiting();
  const total = waiting && totalOf(waiting);
  const isAway = useLiveState() === "reconnecting";
  return (
    <Card title="Waiting for approval" body="grid gap-3">
      <p className="flex items-baseline gap-2">
        <Link
          to="/approvals/{-$request}"
          params={{ request: undefined }}
          className="tabular text-[2.2857rem] leading-none font-semibold tracking-tight hover:underline"
        >
          {total === undefined ? "…" : number(total)}
        </Link>
        <span className="text-ink-2">{total === 1 ? "request" : "requests"}</span>
      </p>
      <ByRisk counts={waiting} />
      <p className="text-ink-2">
        {first !== undefined && <First approval={first} />}
        {first === undefined && (isAway ? "What waits now is not known." : "Nothing waits for you.")}
      </p>
    </Card>
  );
}

function First({ approval: { approval_id, what, expires_at } }: { readonly approval: ApprovalView }): ReactNode {
  const isOver = useIsOver(expires_at);
  return (
    <>
      <TextLink to="/approvals/{-$request}" params={{ request: approval_id }}>
        <Text>{what.tool}</Text>
      </TextLink>{" "}
      is next: {isOver ? "it has expired" : "it expires in "}
      {!isOver && <TimeLeft until={expires_at} />}.
    </>
  );
}

type Level = Sent<"POST /v1/controls/autonomy">["level"];

/** What the policy decides about each tool at each level; read again when the screen is opened. */
function useMeanings(): ReadonlyMap<Level, string> {
  const may = useMay()("policy:read");
  const answers = useQueries({
    queries: autonomies.map((autonomy) => ({
      queryKey: ["effective", autonomy],
      queryFn: () => ask("GET /v1/policy", { agent: "local-agent", autonomy }),
      enabled: may,
    })),
  });
  const found = autonomies.flatMap((level, at) => {
    const lines = answers[at]?.data?.lines;
    return lines ? [[level, meaningOf(lines)] as const] : [];
  });
  return new Map(found);
}

const verdictWords = [
  ["ALLOW", "run", "runs"],
  ["CONFIRM", "need approval", "needs approval"],
  ["PREVIEW", "show a preview", "shows a preview"],
  ["BLOCK", "are blocked", "is blocked"],
  ["DENY", "are denied", "is denied"],
] as const;

/** `3 run, 1 needs approval`: of the tools that there are. */
function meaningOf(lines: readonly EffectiveLineView[]): string {
  if (lines.length === 0) return "there are no tools";
  const counted = verdictWords.flatMap(([verdict, many, one]) => {
    const count = lines.filter((line) => line.verdict === verdict).length;
    return count === 0 ? [] : [`${number(count)} ${count === 1 ? one : many}`];
  });
  return counted.join(", ");
}

/** The autonomy of all agents, and the pause. */
function ControlsCard(): ReactNode {
  const controls = useControls();
  const may = useMay();
  const [chosen, setChosen] = useState<Level>();
  const meanings = useMeanings();
  if (controls === undefined) return null;
  const { autonomy } = controls;
  const isOperator = may("controls:write");
  return (
    <Card title="What agents may do" actions={<BrakeButton kind="all" name="" />} body="grid gap-3">
      <fieldset className="grid gap-1">
        <legend className="sr-only">Autonomy</legend>
        {meanings.size > 0 && (
          <p className="px-2 text-ink-2">At each level of autonomy, of the tools that there are:</p>
        )}
        {autonomies.map((level) => (
          <button
            key={level}
            type="button"
            aria-pressed={level === autonomy}
            disabled={!isOperator || level === autonomy}
            onClick={() => setChosen(level)}
            className="flex items-center gap-3 rounded-md px-2 py-1 text-left text-ink-2 enabled:hover:bg-hover aria-pressed:bg-accent-tint aria-pressed:font-medium aria-pressed:text-accent"
          >
            <span className="tabular w-6">{level}</span> {meanings.get(level)}
          </button>
        ))}
      </fieldset>
      {autonomy === null && <p className="text-ink-2">No level is set: each agent's own threshold decides.</p>}
      {chosen !== undefined && (
        <ReasonDialog
          title={`Autonomy ${chosen} for all agents?`}
          word={`Set ${chosen}`}
          onSend={(reason) => ask("POST /v1/controls/autonomy", { level: chosen, ...reason })}
          done={`Autonomy is ${chosen} from the next call on.`}
          onClose={() => setChosen(undefined)}
        >
          <p>
            It applies to new calls. A lower level also applies to calls that wait and to approved ones; a higher level
            does not release them.
          </p>
        </ReasonDialog>
      )}
    </Card>
  );
}
