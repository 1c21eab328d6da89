import type { ReactNode } from "react";
import type { PolicyTest, SimulationView } from "../../../../src/server/contract/policy.ts";
import { Card } from "../../kit/card.tsx";
import { EmptyState, Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Simulated, Tested } from "./simulated.tsx";

export type Answered =
  | { readonly simulation: SimulationView }
  | { readonly test: PolicyTest }
  | { readonly wrong: string };

/** What was asked about a text, and what came back. */
export type Asked = { readonly text: string } & Answered;

/** @param text as it stands now: an answer about an older one says so */
export function AskedResult({ asked, text }: { readonly asked: Asked | undefined; readonly text: string }): ReactNode {
  return (
    <Card title="What it would change">
      {asked !== undefined && asked.text !== text && (
        <p className="border-b border-line px-4 py-2 text-medium">
          The text was changed since; this is about the one before.
        </p>
      )}
      {asked === undefined ? (
        <EmptyState icon="policy" title="Nothing was simulated yet">
          Recorded calls are put to this text; nothing is run and nothing is written.
        </EmptyState>
      ) : (
        <Answer asked={asked} />
      )}
    </Card>
  );
}

function Answer({ asked }: { readonly asked: Asked }): ReactNode {
  if ("simulation" in asked) return <Simulated simulation={asked.simulation} />;
  if ("test" in asked) return <Tested test={asked.test} />;
  return (
    <div className="p-4">
      <Notice>
        <Text lines>{asked.wrong}</Text>
      </Notice>
    </div>
  );
}
