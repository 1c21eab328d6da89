import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { EffectiveLineView, EffectivePolicyView } from "../../../../src/server/contract/policy.ts";
import { get } from "../../api/client.ts";
import { RiskBadge } from "../../kit/badge.tsx";
import { Card } from "../../kit/card.tsx";
import { Field } from "../../kit/field.tsx";
import { EmptyState, NotYet } from "../../kit/states.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { Text } from "../../kit/text.tsx";
import { AutonomyField } from "./call-fields.tsx";
import { Verdict, Warnings } from "./verdict.tsx";

const columns: readonly Column<EffectiveLineView>[] = [
  {
    name: "Tool",
    cell: ({ tool, action, by }) => (
      <>
        <Text className="font-medium">{action === "default" ? tool : `${tool} ${action}`}</Text>
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
  {
    name: "By",
    cell: ({ by }) => <By by={by} />,
    wide: true, // a phone has it beneath the tool's name
  },
];

function By({ by: { rule, where } }: Pick<EffectiveLineView, "by">): ReactNode {
  return (
    <>
      <Text>{rule}</Text> {where !== undefined && <Text className="mono text-ink-3">{where}</Text>}
    </>
  );
}

/** For one agent: what is so for each tool, and by which rule. */
export function EffectiveTab(): ReactNode {
  const [agent, setAgent] = useState("local-agent");
  const [autonomy, setAutonomy] = useState("");
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "policy", agent, autonomy],
    queryFn: () =>
      get<EffectivePolicyView>("/v1/policy", {
        query: { agent: agent === "" ? undefined : agent, autonomy: autonomy === "" ? undefined : autonomy },
      }),
    placeholderData: (before) => before,
  });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={8} />;
  return (
    <div className="grid gap-4">
      <div className="grid max-w-xl gap-3 sm:grid-cols-2">
        <Field label="Agent">
          {(wired) => (
            <input {...wired} className="input" value={agent} onChange={({ target }) => setAgent(target.value)} />
          )}
        </Field>
        <AutonomyField value={autonomy} onChange={setAutonomy} />
      </div>
      <Warnings warnings={data.warnings} />
      <Card>
        {data.lines === null ? (
          <EmptyState icon="policy" title="This policy is code, and cannot tell" />
        ) : (
          <Table
            label="What holds for each tool"
            rows={data.lines}
            keyOf={({ tool, action }) => `${tool} ${action}`}
            columns={columns}
          />
        )}
      </Card>
    </div>
  );
}
