import type { EffectiveLineView } from "@postern/core/contract";
import { keepPreviousData } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { type Sent, useAnswer } from "../../api/index.ts";
import {
  Card,
  type Column,
  EmptyState,
  NotYet,
  RiskBadge,
  Table,
  Tabs,
  Text,
  TextField,
  ToolName,
} from "../../kit/index.ts";
import { ChangeTab } from "./change-tab.tsx";
import { AutonomyField, ExplainTab } from "./explain-tab.tsx";
import { Verdict, Warnings } from "./verdict.tsx";

const tabs = [
  { id: "explain", label: "Explain a call" },
  { id: "change", label: "Change and simulate" },
  { id: "effective", label: "Effective" },
];

export function PolicyScreen(): ReactNode {
  const { id = "explain" } = useParams({ strict: false });
  const search = useSearch({ strict: false }) as { readonly call?: unknown }; // an address may hold anything: only a text counts
  const navigate = useNavigate();
  return (
    <div className="px-4 py-4 lg:px-6">
      <Tabs label="Policy" tabs={tabs} selected={id} onSelect={(next) => void navigate({ to: `/policy/${next}` })}>
        {id === "change" ? (
          <ChangeTab />
        ) : id === "effective" ? (
          <EffectiveTab />
        ) : (
          <ExplainTab pastCall={typeof search.call === "string" ? search.call : undefined} />
        )}
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
          <span className="text-ink-3" title={depends.map(({ rule }) => rule).join("\n")}>
            or by its arguments
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
  const [agent, setAgent] = useState("local-agent");
  const [autonomy, setAutonomy] = useState("");
  const sent = { agent: agent || undefined, autonomy: autonomy || undefined } as Sent<"GET /v1/policy">; // one of the options
  const { data, error, refetch } = useAnswer("GET /v1/policy", sent, { placeholderData: keepPreviousData });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={8} />;
  return (
    <div className="grid gap-4">
      <div className="grid max-w-xl gap-3 sm:grid-cols-2">
        <TextField label="Agent" value={agent} onChange={setAgent} />
        <AutonomyField value={autonomy} onChange={setAutonomy} />
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
