import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Tabs } from "../../kit/index.ts";
import { ChangeTab } from "./change-tab.tsx";
import { EffectiveTab } from "./effective-tab.tsx";
import { ExplainTab } from "./explain-tab.tsx";

const tabs = [
  { id: "explain", label: "Explain a call" },
  { id: "change", label: "Change and simulate" },
  { id: "effective", label: "Effective policy" },
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
