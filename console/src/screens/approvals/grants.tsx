import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get, post } from "../../api/client.ts";
import type { Grant } from "../../api/grants.ts";
import { useMay } from "../../api/session.ts";
import { actorText } from "../../kit/actor.ts";
import { RiskBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { Json } from "../../kit/json.tsx";
import { EmptyState, Notice, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { toast } from "../../kit/toast.tsx";

/** What was remembered: who said so, for what, until when, how often it answered. Taken back with one click. */
export function Grants(): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "grants"],
    queryFn: ({ signal }) =>
      get<{ readonly grants: readonly Grant[] }>("/v1/grants", { query: { state: "live" }, signal }),
  });
  if (data === undefined) return <NotYet error={error} again={refetch} rows={3} />;
  if (data.grants.length === 0) {
    return <EmptyState title="Nothing is remembered">Every call that a rule asks about is asked about.</EmptyState>;
  }
  return (
    <ul className="grid gap-3">
      {data.grants.map((grant) => (
        <GrantItem key={grant.grant_id} grant={grant} />
      ))}
    </ul>
  );
}

function GrantItem({ grant }: { readonly grant: Grant }): ReactNode {
  const may = useMay();
  const client = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: () => post(`/v1/grants/${encodeURIComponent(grant.grant_id)}/revoke`),
    onSuccess: () => toast(`Taken back: ${grant.scope.tool} is asked about again.`),
    onError: (error) => toast(error.message, "bad"),
    onSettled: () => client.invalidateQueries({ queryKey: ["live", "grants"] }),
  });
  return (
    <li className="grid gap-2 rounded-md border border-line p-3">
      <div className="flex flex-wrap items-center gap-2">
        <Text className="font-semibold">{grant.scope.tool}</Text>
        <RiskBadge risk={grant.risk_level} />
        {may("grants:write") && (
          <Button look="danger" size="small" className="ml-auto" busy={isPending} onClick={() => mutate()}>
            Take it back
          </Button>
        )}
      </div>
      <p className="text-ink-2">
        For <Text className="text-ink">{grant.granted_to.agent}</Text>
        {grant.for === "time" ? "" : `, in one ${grant.for}`}, until <Time at={grant.until} />. By{" "}
        <Text className="text-ink">{actorText(grant.by, grant.via)}</Text>: <Text>{`“${grant.reason}”`}</Text>. Used{" "}
        {grant.uses} {grant.uses === 1 ? "time" : "times"}.
      </p>
      {grant.silent !== undefined && (
        <Notice tone="medium">
          It does not count at present: <Text>{grant.silent}</Text>
        </Notice>
      )}
      {grant.scope.arguments !== undefined && <Json value={grant.scope.arguments} />}
    </li>
  );
}
