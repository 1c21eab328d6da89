import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { CheckedView } from "../../../../src/server/contract/audit.ts";
import { ask, save, useMay } from "../../api/index.ts";
import { Button, Hash, Icon, number, Text, Time, toast } from "../../kit/index.ts";

type IntegrityProps = Readonly<{
  size: number | undefined;
  /** The last check that Postern made by itself. */
  checked: CheckedView | undefined;
  isNew: boolean;
  onLatest: () => void;
}>;

/** How long the log is, whether it is intact, and its export. */
export function Integrity({ size, checked, isNew, onLatest }: IntegrityProps): ReactNode {
  const may = useMay();
  const { data: last, refetch } = useQuery<CheckedView>({
    queryKey: ["audit-verified"],
    queryFn: async () => ({ ...(await ask("GET /v1/audit/verify")), at: new Date().toISOString() }),
    enabled: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY, // shown until the page is closed
  });
  const check = useMutation({ mutationFn: () => refetch({ throwOnError: true }) });
  const download = useMutation({
    mutationFn: () => save("/v1/audit/export", "audit.log"),
    onError: ({ message }) => toast(message, "bad"),
  });
  const shown = last !== undefined && (checked === undefined || checked.at < last.at) ? last : checked;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-surface px-4 py-2">
      {size !== undefined && <span className="tabular text-ink-2">{number(size)} events</span>}
      {isNew && (
        <Button size="small" onClick={onLatest}>
          Show new events
        </Button>
      )}
      <span className="ml-auto flex flex-wrap items-center gap-x-3 gap-y-1" role="status">
        {check.isPending && <span className="text-ink-2">Reading every entry again …</span>}
        {check.error !== null && <Text className="text-critical">{check.error.message}</Text>}
        {!check.isPending && check.error === null && shown !== undefined && <Found found={shown} />}
        <Button size="small" busy={check.isPending} onClick={() => check.mutate()}>
          Check the whole log
        </Button>
        {may("audit:export") && (
          <Button size="small" icon="down_tray" busy={download.isPending} onClick={() => download.mutate()}>
            Export
          </Button>
        )}
      </span>
    </div>
  );
}

function Found({ found }: { readonly found: CheckedView }): ReactNode {
  if (!found.intact) {
    const { unreadable, first_broken: entry, why } = found;
    const what = unreadable === undefined ? `Broken at entry ${entry}` : `Unreadable from entry ${entry} on`;
    return (
      <span className="font-medium text-critical">
        {what}: <Text>{why}</Text> (<Time at={found.at} />
        {unreadable === "failing" && "; it is tried again"})
      </span>
    );
  }
  const { events, problems, at, head } = found;
  if (problems !== undefined)
    return (
      <span className="font-medium text-critical">
        {number(events)} intact, but: <Text>{problems.join(" ")}</Text> (<Time at={at} />)
      </span>
    );
  return (
    <span className="flex flex-wrap items-center gap-1.5 text-safe">
      <Icon name="check" size={14} />
      <span>
        {number(events)} intact, checked <Time at={at} />, head
      </span>
      <Hash value={head} label="head" />
    </span>
  );
}
