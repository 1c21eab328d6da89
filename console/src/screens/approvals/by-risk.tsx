import { type Risk, risks } from "@postern/core";
import type { ReactNode } from "react";
import { number, RiskBadge, TextLink } from "../../kit/index.ts";

const worstFirst = risks.toReversed();

/** How many requests wait of each risk; each number leads to its list. */
export function ByRisk({ counts }: { readonly counts: Readonly<Record<Risk, number>> | undefined }): ReactNode {
  return (
    <ul aria-label="By risk" className="flex flex-wrap gap-x-4 gap-y-1.5 empty:hidden">
      {worstFirst
        .filter((risk) => counts !== undefined && counts[risk] > 0)
        .map((risk) => (
          <li key={risk}>
            <TextLink to="/approvals/{-$request}" params={{ request: undefined }} search={{ risk }}>
              <RiskBadge risk={risk} /> <span className="tabular">{number(counts?.[risk] ?? 0)}</span>
            </TextLink>
          </li>
        ))}
    </ul>
  );
}
