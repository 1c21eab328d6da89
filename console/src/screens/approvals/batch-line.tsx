import { type ReactNode, useState } from "react";
import type { ApprovalView } from "../../api/approvals.ts";
import { RiskBadge } from "../../kit/badge.tsx";
import { Json } from "../../kit/json.tsx";
import { Text } from "../../kit/text.tsx";
import { WhyAsked } from "./card-parts.tsx";
import { PreviewPart } from "./preview-part.tsx";

/** One of many: its arguments and what the tool says at once, everything else that a yes to it covers when it is opened. */
export function BatchLine({
  approval,
  isChosen,
  onChoose,
  onOpen,
}: {
  readonly approval: ApprovalView;
  readonly isChosen: boolean;
  readonly onChoose: (isChosen: boolean) => void;
  readonly onOpen: () => void;
}): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const toggle = (isIn: boolean): void => {
    setIsOpen(isIn);
    if (isIn) onOpen();
  };
  const { approval_id: id, what, preview, summary, risk_level: risk } = approval;
  return (
    <li className="grid gap-1 border-b border-line pb-2 last:border-0">
      <div className="flex items-start gap-2.5">
        <input
          id={`batch-${id}`}
          type="checkbox"
          aria-label={`Decide ${id} with the others`}
          className="mt-1 accent-accent"
          checked={isChosen}
          onChange={({ target }) => onChoose(target.checked)}
        />
        <label htmlFor={`batch-${id}`} className="grid min-w-0 flex-1 gap-1">
          <span className="flex flex-wrap items-baseline gap-2">
            <RiskBadge risk={risk} />
            {preview !== undefined && <Text>{preview.summary}</Text>}
          </span>
          {summary !== undefined && summary !== preview?.summary && <Text className="text-high">{summary}</Text>}
          <Json value={what.arguments} />
        </label>
      </div>
      <details className="pl-6" onToggle={({ currentTarget }) => toggle(currentTarget.open)}>
        <summary className="cursor-pointer text-ink-2">All that you decide with it</summary>
        {isOpen && (
          <div className="mt-2 grid gap-2">
            <PreviewPart approval={approval} label={`What changes with ${id}`} />
            <WhyAsked approval={approval} />
          </div>
        )}
      </details>
    </li>
  );
}
