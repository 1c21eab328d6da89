import type { ApprovalGroupView } from "@postern/core/contract";
import { type ReactNode, useState } from "react";
import type { ApprovalsAddress } from "../../address.ts";
import { namesOf, useAnswer } from "../../api/index.ts";
import { number, RiskBadge, Text, TextLink } from "../../kit/index.ts";
import { GroupActions } from "./group-actions.tsx";

/** Fewer similar requests are no group. */
const fewest = 5;
const mostShown = 2;
const none: readonly ApprovalGroupView[] = [];

type Group = ApprovalGroupView & Required<Pick<ApprovalGroupView, "tool" | "agent" | "run_id" | "risk">>;

type RequestGroupsProps = Readonly<{
  wanted: ApprovalsAddress;
  /** The pointer is over the list below: no row may move. */
  isHeld: boolean;
}>;

/** Above the list: the largest groups of similar requests, so that a storm is seen whole and stopped at once. */
export function RequestGroups({ wanted, isHeld }: RequestGroupsProps): ReactNode {
  const { state, search, ...where } = wanted;
  const enabled = state === undefined && search === undefined;
  const { data } = useAnswer(
    "GET /v1/approvals/groups",
    { ...where, by: "tool,agent,run_id,risk", limit: 20 },
    { enabled },
  );
  const found = enabled ? data?.groups : none;
  const [shown, setShown] = useState(found);
  // A dialog of a group stays open when others become larger.
  const isSteady = isHeld || document.querySelector("dialog[open]") !== null;
  if (found !== undefined && shown !== found && (shown === undefined || !isSteady)) setShown(found);
  const many = (shown ?? none).filter(({ waiting }) => waiting >= fewest);
  const groups = many.slice(0, mostShown) as readonly Group[]; // they have all that `by` names
  if (groups.length === 0) return null;
  return (
    <ul aria-label="Many similar requests" className="shrink-0 divide-y divide-line border-b border-line bg-sunken">
      {groups.map(({ waiting, agent, tool, run_id, risk }) => (
        <li key={`${run_id} ${tool} ${risk}`} className="grid gap-1.5 px-3 py-2">
          <div className="flex items-center justify-between gap-2">
            <span className="min-w-0 truncate font-semibold">
              <TextLink to="/approvals/{-$request}" params={{ request: undefined }} search={{ tool, run_id, risk }}>
                <Text>{namesOf(tool).name}</Text> × {number(waiting)}
              </TextLink>
            </span>
            <RiskBadge risk={risk} />
          </div>
          <p className="truncate text-[0.8571rem] text-ink-2">
            <Text>{agent}</Text> · run <Text>{run_id}</Text>
          </p>
          <GroupActions where={{ tool, run_id, risk }} agent={agent} waiting={waiting} />
        </li>
      ))}
    </ul>
  );
}
