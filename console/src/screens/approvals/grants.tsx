/** Remembered approvals: decisions that hold for more than one request. */

import type { GrantView } from "@postern/core/contract";
import { type ReactNode, useState } from "react";
import { ask, useAnswer, useMay } from "../../api/index.ts";
import {
  actorText,
  Button,
  classNames,
  counted,
  EmptyState,
  Json,
  Notice,
  NotYet,
  number,
  RiskBadge,
  StateBadge,
  Text,
  Time,
  ToolName,
} from "../../kit/index.ts";
import { ChangeButton } from "../dialogs.tsx";

export function Grants(): ReactNode {
  const [isAll, setIsAll] = useState(false);
  const { data, error, refetch } = useAnswer("GET /v1/grants", {});
  if (data === undefined) return <NotYet error={error} again={refetch} rows={3} />;
  const live = data.grants.filter(({ status }) => status === "live");
  const past = data.grants.filter(({ status }) => status !== "live");
  return (
    <>
      {live.length === 0 && (
        <EmptyState title="Nothing is remembered">Every call that a rule asks about needs approval.</EmptyState>
      )}
      <ul className="grid gap-3 empty:hidden">
        {[...live, ...(isAll ? past : [])].map((grant) => (
          <GrantItem key={grant.grant_id} grant={grant} />
        ))}
      </ul>
      {past.length > 0 && !isAll && (
        <Button look="plain" className="justify-self-center" onClick={() => setIsAll(true)}>
          Show {number(past.length)} that {past.length === 1 ? "has" : "have"} ended
        </Button>
      )}
    </>
  );
}

const endings = new Map([
  ["over", "It has expired."],
  ["void", "The tool, its risk or a rule has changed, so it does not hold any more."],
]);

function GrantItem({ grant }: { readonly grant: GrantView }): ReactNode {
  const may = useMay();
  const { scope, granted_to: to, by, via, revoked, status } = grant;
  const isLive = status === "live";
  return (
    <li className={classNames("grid gap-2 rounded-md border border-line p-3", isLive ? "bg-surface" : "bg-raised")}>
      <div className="flex flex-wrap items-center gap-2">
        <ToolName tool={scope.tool} action={scope.action} className="font-semibold" />
        <RiskBadge risk={grant.risk_level} />
        {!isLive && <StateBadge state={status} />}
        {isLive && may("grants:write") && (
          <ChangeButton
            look="danger"
            size="small"
            className="ml-auto"
            change={() => ask("POST /v1/grants/{id}/revoke", { id: grant.grant_id })}
            done={`Revoked: ${scope.tool} needs approval again.`}
          >
            Revoke
          </ChangeButton>
        )}
      </div>
      <p className="text-ink-2">
        For <Text className="text-ink">{to.agent}</Text>
        {to.user !== undefined && (
          <>
            {" and its user "}
            <Text className="text-ink">{to.user}</Text>
          </>
        )}
        {grant.for === "time" ? "" : `, in one ${grant.for}`}
        {grant.run_id !== undefined && <Text className="mono">{` ${grant.run_id}`}</Text>}
        {isLive ? ". Ends " : ", until "}
        <Time at={grant.until} />. By <Text className="text-ink">{actorText(by, via)}</Text>:{" "}
        <Text>{`“${grant.reason}”`}</Text> {grant.uses === 0 ? "Not used yet." : `Used ${counted(grant.uses, "time")}.`}
      </p>
      {revoked !== undefined && (
        <p className="text-ink-2">
          Revoked by <Text className="text-ink">{revoked.by}</Text>, <Time at={revoked.at} />.
        </p>
      )}
      {endings.has(status) && <p className="text-ink-2">{endings.get(status)}</p>}
      {grant.silent !== undefined && (
        <Notice tone="medium">
          It does not hold at present: <Text>{grant.silent}</Text>
        </Notice>
      )}
      {scope.arguments !== undefined && <Json value={scope.arguments} />}
    </li>
  );
}
