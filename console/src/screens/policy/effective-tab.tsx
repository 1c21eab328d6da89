import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { EffectiveLineView } from "../../../../src/server/contract/policy.ts";
import { ask, type Sent } from "../../api/index.ts";
import { Card, type Column, EmptyState, NotYet, RiskBadge, Table, Text, TextField, ToolName } from "../../kit/index.ts";
import { AutonomyField } from "./explain-tab.tsx";
import { Verdict, Warnings } from "./verdict.tsx";

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
export function EffectiveTab(): ReactNode {
  const [agent, setAgent] = useState("local-agent");
  const [autonomy, setAutonomy] = useState("");
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "policy", agent, autonomy],
    queryFn: ({ signal }) => {
      const sent = { agent: agent || undefined, autonomy: autonomy || undefined };
      return ask("GET /v1/policy", sent as Sent<"GET /v1/policy">, signal); // the autonomy is one of the options
    },
    placeholderData: (before) => before,
  });
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
