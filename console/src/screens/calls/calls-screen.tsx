import { callStates } from "@postern/core";
import type { CallView } from "@postern/core/contract";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Answer, useAnswer, useMay, usePages } from "../../api/index.ts";
import {
  type Column,
  EmptyState,
  Facts,
  type Filter,
  FilterBar,
  FilterTable,
  Hash,
  maybeDuration,
  NotYet,
  RiskBadge,
  RunLink,
  StateBadge,
  stateWord,
  Text,
  TextLink,
  Time,
  ToolName,
  useFilters,
} from "../../kit/index.ts";
import { CallContent, CallLinks, callStateOf, RefusalLine } from "../call-content.tsx";
import { Unknown } from "../runs/unknown.tsx";
import { SidePanel } from "../split-view.tsx";

const route = getRouteApi("/calls/{-$call}");

const filters: readonly Filter[] = [
  { name: "search", label: "Search calls", placeholder: "Words in names or arguments", look: "wide" },
  {
    name: "state",
    label: "State",
    options: [["", "Any state"], ...callStates.map((state) => [state, stateWord(state)] as const)],
  },
  { name: "tool", label: "Tool", place: "more" },
  { name: "run_id", label: "Run", place: "more" },
  { name: "since", label: "From", place: "more", look: "time" },
];

const columns: readonly Column<CallView>[] = [
  { name: "When", cell: ({ arrived_at }) => <Time at={arrived_at} isExact /> },
  { name: "Tool", cell: ({ tool, action }) => <ToolName tool={tool} action={action} className="font-medium" /> },
  { name: "Agent", cell: ({ requested_by }) => <Text>{requested_by.agent}</Text> },
  { name: "State", cell: (call) => <StateBadge state={callStateOf(call)} /> },
  { name: "Tool time", align: "right", cell: ({ durations }) => maybeDuration(durations.tool_ms) },
  {
    name: "Input",
    cell: ({ arguments: given }) => (
      <Text className="mono text-ink-2" limit={160}>
        {JSON.stringify(given).slice(0, 160)}
      </Text>
    ),
  },
];
const layout = "@5xl:grid-cols-[14rem_minmax(8rem,14rem)_minmax(5rem,9rem)_11rem_5rem_minmax(0,1fr)]";

/** All calls of all runs, new to old. */
export function CallsScreen(): ReactNode {
  const { call: id } = route.useParams();
  const wanted = route.useSearch();
  const navigate = route.useNavigate();
  const pages = usePages("GET /v1/calls", { ...wanted, limit: 100 }, { rowsOf: callsOf, keyOf: idOf });
  const isFiltered = Object.keys(wanted).length > 0;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <FilterBar {...useFilters()} filters={filters} />
      <div className="flex min-h-0 flex-1 bg-surface">
        <FilterTable
          label="Calls, new to old"
          pages={pages}
          keyOf={idOf}
          estimate={44}
          chosen={id}
          link={(call) => ({ to: "/calls/{-$call}", params: { call: idOf(call) }, search: wanted })}
          row={{ columns, layout }}
          nothing={
            <EmptyState icon="calls" title={isFiltered ? "No call matches" : "No calls yet"}>
              {!isFiltered && "Calls that passed the first checks are listed here, with their input and result."}
            </EmptyState>
          }
        />
        {id !== undefined && (
          <SidePanel
            label="Call"
            title="Call"
            onClose={() => void navigate({ to: "/calls/{-$call}", params: { call: undefined }, search: wanted })}
          >
            <OpenCall key={id} id={id} />
          </SidePanel>
        )}
      </div>
    </div>
  );
}

const callsOf = ({ calls }: Answer<"GET /v1/calls">): readonly CallView[] => calls;
const idOf = ({ call_id }: CallView): string => call_id;

function OpenCall({ id }: { readonly id: string }): ReactNode {
  const { data, error, refetch } = useAnswer("GET /v1/calls/{id}", { id });
  const maySettle = useMay()("calls:settle");
  if (data === undefined) return <NotYet error={error} again={refetch} rows={6} />;
  const { call_id, tool, action, state, outcome, approval_id, parent_id, requested_by, arrived_at, started_at } = data;
  const user = requested_by.user === undefined ? "" : `, for ${requested_by.user}`;
  return (
    <div className="grid gap-5 p-4">
      <p className="flex flex-wrap items-center gap-2 font-semibold">
        <ToolName tool={tool} action={action} />
        <RiskBadge risk={data.risk_level} />
        <StateBadge state={callStateOf(data)} />
      </p>
      {outcome?.refusal !== undefined && <RefusalLine {...outcome.refusal} />}
      {state === "unknown" && <Unknown call={data} maySettle={maySettle} />}
      <CallContent callId={id} on="row" />
      <Facts
        rows={{
          Arrived: <Time at={arrived_at} isExact />,
          Executed: started_at && <Time at={started_at} isExact />,
          Agent: <Text>{`${requested_by.agent}${user}`}</Text>,
          Run: <RunLink id={data.run_id} />,
          Script: parent_id && (
            <TextLink to="/calls/{-$call}" params={{ call: parent_id }}>
              The call that made this one
            </TextLink>
          ),
          Approval: approval_id && (
            <TextLink to="/approvals/{-$request}" params={{ request: approval_id }}>
              The request
            </TextLink>
          ),
          Call: <Hash value={call_id} label="call id" />,
        }}
      />
      <p className="flex flex-wrap gap-4">
        <CallLinks call={data} />
      </p>
    </div>
  );
}
