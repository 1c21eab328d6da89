import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { get, post } from "../../api/client.ts";
import type { GrantView } from "../../api/grants.ts";
import { useMay } from "../../api/session.ts";
import { actorText } from "../../kit/actor.ts";
import { RiskBadge, StateBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { classNames } from "../../kit/class-names.ts";
import { Json } from "../../kit/json.tsx";
import { EmptyState, Notice, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { toast } from "../../kit/toast.tsx";

/** What was remembered: who said so, for what, until when, how often it answered. Taken back with one click. */
export function Grants(): ReactNode {
  const [isAll, setIsAll] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "grants"],
    queryFn: ({ signal }) => get<{ readonly grants: readonly GrantView[] }>("/v1/grants", { signal }),
  });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={3} />;
  const live = data.grants.filter(({ status }) => status === "live");
  const past = data.grants.filter(({ status }) => status !== "live");
  return (
    <>
      {live.length === 0 && (
        <EmptyState title="Nothing is remembered">Every call that a rule asks about is asked about.</EmptyState>
      )}
      <ul className="grid gap-3 empty:hidden">
        {[...live, ...(isAll ? past : [])].map((grant) => (
          <GrantItem key={grant.grant_id} grant={grant} />
        ))}
      </ul>
      {past.length > 0 && !isAll && (
        <Button look="plain" className="justify-self-center" onClick={() => setIsAll(true)}>
          Show {past.length} that {past.length === 1 ? "counts" : "count"} no more
        </Button>
      )}
    </>
  );
}

const endings = new Map([
  ["over", "Its time is over."],
  ["void", "The tool, its risk or a rule is another now: it answers nothing any more."],
]);

function GrantItem({ grant }: { readonly grant: GrantView }): ReactNode {
  const may = useMay();
  const client = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: () => post(`/v1/grants/${encodeURIComponent(grant.grant_id)}/revoke`),
    onSuccess: () => toast(`Taken back: ${grant.scope.tool} is asked about again.`),
    onError: (error) => toast(error.message, "bad"),
    onSettled: () => client.invalidateQueries({ queryKey: ["live", "grants"] }),
  });
  const { scope, granted_to: to, by, via, on_behalf_of: behalf, revoked, status } = grant;
  const isLive = status === "live";
  return (
    <li className={classNames("grid gap-2 rounded-md border border-line p-3", isLive ? "bg-surface" : "bg-raised")}>
      <div className="flex flex-wrap items-center gap-2">
        <Text className="font-semibold">{scope.tool}</Text>
        {scope.action !== "default" && <Text className="text-ink-2">{scope.action}</Text>}
        <RiskBadge risk={grant.risk_level} />
        {!isLive && <StateBadge state={status} />}
        {isLive && may("grants:write") && (
          <Button look="danger" size="small" className="ml-auto" busy={isPending} onClick={() => mutate()}>
            Take it back
          </Button>
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
        {grant.run_id !== undefined && (
          <>
            {" "}
            <Text className="mono">{grant.run_id}</Text>
          </>
        )}
        {isLive ? ". Ends " : ", until "}
        <Time at={grant.until} />. By <Text className="text-ink">{actorText(by, via)}</Text>
        {behalf !== undefined && (
          <>
            {" for "}
            <Text className="text-ink">{behalf}</Text>
          </>
        )}
        : <Text>{`“${grant.reason}”`}</Text>{" "}
        {grant.uses === 0 ? "Not used yet." : `Used ${grant.uses === 1 ? "once" : `${grant.uses} times`}.`}
      </p>
      {revoked !== undefined && (
        <p className="text-ink-2">
          Taken back by <Text className="text-ink">{revoked.by}</Text>, <Time at={revoked.at} />.
        </p>
      )}
      {endings.has(status) && <p className="text-ink-2">{endings.get(status)}</p>}
      {grant.silent !== undefined && (
        <Notice tone="medium">
          It does not count at present: <Text>{grant.silent}</Text>
        </Notice>
      )}
      {scope.arguments !== undefined && <Json value={scope.arguments} />}
    </li>
  );
}
