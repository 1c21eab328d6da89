import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { CheckedView, VerificationView } from "../../../../src/server/contract/audit.ts";
import { get } from "../../api/client.ts";
import { save } from "../../api/save.ts";
import { useMay } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { Hash } from "../../kit/copy.tsx";
import { Icon } from "../../kit/icons.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { toast } from "../../kit/toast.tsx";

/** What was last found is shown until the page is closed; it says when. */
const key = ["audit-verified"];

/** How long the log is, whether all of it holds, and the way to take it along. */
export function Integrity({
  size,
  checked,
  isNew,
  onLatest,
}: {
  readonly size: number | undefined;
  /** Found before this page asked: Postern reads the log again by itself. */
  readonly checked: CheckedView | undefined;
  readonly isNew: boolean;
  readonly onLatest: () => void;
}): ReactNode {
  const may = useMay();
  const { data: last, refetch } = useQuery<CheckedView>({
    queryKey: key,
    queryFn: async () => ({ ...(await get<VerificationView>("/v1/audit/verify")), at: new Date().toISOString() }),
    enabled: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const read = await refetch();
      if (read.error !== null) throw read.error;
    },
  });
  const shown = last !== undefined && (checked === undefined || checked.at < last.at) ? last : checked;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-surface px-4 py-2">
      {size !== undefined && <span className="tabular text-ink-2">{size.toLocaleString("en")} events</span>}
      {isNew && (
        <Button size="small" onClick={onLatest}>
          Show new events
        </Button>
      )}
      <span className="ml-auto flex flex-wrap items-center gap-x-3 gap-y-1" role="status">
        {isPending ? (
          <span className="text-ink-2">Reading every entry again …</span>
        ) : error !== null ? (
          <Text className="text-critical">{error.message}</Text>
        ) : (
          shown !== undefined && <Found found={shown} />
        )}
        <Button size="small" busy={isPending} onClick={() => mutate()}>
          Check the whole log
        </Button>
        {may("audit:export") && <Export />}
      </span>
    </div>
  );
}

function Export(): ReactNode {
  const { mutate, isPending } = useMutation({
    mutationFn: () => save("/v1/audit/export", "audit.log"),
    onError: (problem) => toast(problem.message, "bad"),
  });
  return (
    <Button size="small" busy={isPending} onClick={() => mutate()}>
      <Icon name="down_tray" size={14} /> Export
    </Button>
  );
}

function Found({ found }: { readonly found: CheckedView }): ReactNode {
  if (!found.intact && found.unreadable !== undefined)
    return (
      <span className="font-medium text-critical">
        Unreadable from entry {found.first_broken} on: <Text>{found.why}</Text> (<Time at={found.at} />
        {found.unreadable === "failing" && "; it is tried again"})
      </span>
    );
  if (!found.intact)
    return (
      <span className="font-medium text-critical">
        Broken at entry {found.first_broken}: <Text>{found.why}</Text> (<Time at={found.at} />)
      </span>
    );
  if (found.problems !== undefined)
    return (
      <span className="font-medium text-critical">
        {found.events.toLocaleString("en")} intact, but: <Text>{found.problems.join(" ")}</Text> (<Time at={found.at} />
        )
      </span>
    );
  return (
    <span className="flex flex-wrap items-center gap-1.5 text-safe">
      <Icon name="check" size={14} />
      <span>
        {found.events.toLocaleString("en")} intact, checked <Time at={found.at} />, head
      </span>
      <Hash value={found.head} label="head" />
    </span>
  );
}
