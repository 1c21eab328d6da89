import { autonomies } from "@postern/core";
import type { EffectiveLineView } from "@postern/core/contract";
import { keepPreviousData } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { PolicyAddress } from "../../address.ts";
import { useAnswer } from "../../api/index.ts";
import {
  Card,
  type Column,
  EmptyState,
  Field,
  Hint,
  lazyScreen,
  NotYet,
  RiskBadge,
  Table,
  Tabs,
  Text,
  ToolName,
  TypedSearch,
} from "../../kit/index.ts";
import { AutonomyField, ExplainTab } from "./explain-tab.tsx";
import { Verdict, Warnings } from "./verdict.tsx";

/** With the editor, which only this tab needs. It comes when the browser is idle, as the screens do. */
const ChangeTab = lazyScreen(async () => (await import("./change-tab.tsx")).ChangeTab);
void ChangeTab.preload();

const route = getRouteApi("/policy/{-$tab}");
const tabs = [
  { id: "explain", label: "Explain a call" },
  { id: "change", label: "Change and simulate" },
  { id: "effective", label: "Effective" },
];

export function PolicyScreen(): ReactNode {
  const { tab: id = "explain" } = route.useParams();
  const { call } = route.useSearch();
  const navigate = route.useNavigate();
  const open = (tab: string): void => void navigate({ to: "/policy/{-$tab}", params: { tab } });
  return (
    <div className="px-4 py-4 lg:px-6">
      <Tabs label="Policy" tabs={tabs} selected={id} onSelect={open}>
        {id === "change" ? <ChangeTab /> : id === "effective" ? <EffectiveTab /> : <ExplainTab pastCall={call} />}
      </Tabs>
    </div>
  );
}

const columns: readonly Column<EffectiveLineView>[] = [
  {
    name: "Tool",
    cell: ({ tool, action, by }) => (
      <>
        <ToolName tool={tool} action={action} className="font-medium" />
        <span className="block text-ink-2 md:hidden">
          <By by={by} />
        </span>
      </>
    ),
  },
  { name: "Risk", cell: ({ risk }) => <RiskBadge risk={risk} />, wide: true },
  {
    name: "Verdict",
    cell: ({ verdict, depends }) => (
      <span className="inline-flex items-center gap-1.5">
        <Verdict verdict={verdict} />
        {depends.length > 0 && (
          <span className="text-ink-3">
            <Hint
              hint={depends.map((reason, at) => (
                <p key={at}>
                  <By by={reason} />
                </p>
              ))}
            >
              or by its arguments
            </Hint>
          </span>
        )}
      </span>
    ),
  },
  { name: "By", cell: ({ by }) => <By by={by} />, wide: true }, // a phone has it under the tool's name
];

function By({ by: { rule, where } }: Pick<EffectiveLineView, "by">): ReactNode {
  return (
    <>
      <Text>{rule}</Text> {where !== undefined && <Text className="mono text-ink-3">{where}</Text>}
    </>
  );
}

/** The verdict on each tool for one agent, and the rule that gives it. */
function EffectiveTab(): ReactNode {
  const { agent = "local-agent", autonomy } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (change: Partial<PolicyAddress>): void =>
    void navigate({ to: ".", search: (now) => ({ ...now, ...change }), replace: true });
  const sent = { agent, autonomy };
  const { data, error, refetch } = useAnswer("GET /v1/policy", sent, { placeholderData: keepPreviousData });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={8} />;
  return (
    <div className="grid gap-4">
      <div className="grid max-w-xl gap-3 sm:grid-cols-2">
        <Field label="Agent">
          {({ id }) => <TypedSearch id={id} words={agent} onWords={(name) => show({ agent: name })} />}
        </Field>
        <AutonomyField
          value={autonomy ?? ""}
          onChange={(level) => show({ autonomy: autonomies.find((one) => one === level) })}
        />
      </div>
      <Warnings warnings={data.warnings} />
      <Card>
        {data.lines === null ? (
          <EmptyState icon="policy" title="This policy is code: it has no list of verdicts" />
        ) : (
          <Table
            label="The verdict on each tool"
            rows={data.lines}
            keyOf={({ tool, action }) => `${tool} ${action}`}
            columns={columns}
          />
        )}
      </Card>
    </div>
  );
}
