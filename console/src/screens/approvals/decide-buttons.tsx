import type { ReactNode } from "react";
import { type ApprovalView, maySay } from "../../api/approvals.ts";
import { Button } from "../../kit/button.tsx";
import { Text } from "../../kit/text.tsx";
import type { Press } from "./use-armed.ts";
import type { Deciding } from "./use-deciding.ts";

export type Open = "approve" | "remember" | "edit" | "deny";

/** While it is not ready they stay in the order of the keyboard, and say that they wait. */
export function DecideButtons({
  approval,
  busy,
  isTyped,
  isReady,
  isYesReady,
  approve,
  open,
  withdraw,
}: {
  readonly approval: ApprovalView;
  readonly busy: Deciding["busy"];
  /** A yes takes the tool's name. */
  readonly isTyped: boolean;
  readonly isReady: boolean;
  /** Also a yes counts. */
  readonly isYesReady: boolean;
  readonly approve: (by: Press) => void;
  readonly open: (which: Open, by: Press) => void;
  /** For who asked. */
  readonly withdraw: ReactNode;
}): ReactNode {
  const mayApprove = maySay(approval, "approve");
  const remembers = mayApprove && approval.remembers_allowed && !isTyped;
  const inPlace = approval.viewer?.on_behalf_of;
  const described = [!isReady && "decide-waits", inPlace !== undefined && "decide-for"].filter(Boolean).join(" ");
  const waits = {
    ...(!isReady && { "aria-disabled": true }),
    ...(described !== "" && { "aria-describedby": described }),
  };
  const other = { ...waits, disabled: busy !== undefined };
  const yes = isYesReady ? waits : { ...waits, "aria-disabled": true };
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-2">
      {inPlace !== undefined && (
        <p id="decide-for" className="w-full text-medium max-sm:col-span-2">
          You decide for <Text className="font-medium">{inPlace}</Text>, in whose place you may; both names are kept.
        </p>
      )}
      {!mayApprove && approval.viewer?.message !== undefined && (
        <p className="w-full text-ink-2 max-sm:col-span-2">
          <Text>{approval.viewer.message}</Text>
        </p>
      )}
      {maySay(approval, "deny") && (
        <Button
          {...other}
          look="danger"
          icon="cross"
          hint="d"
          className={mayApprove ? "max-sm:h-12 sm:order-3" : "max-sm:col-span-2 max-sm:h-12 sm:order-3"}
          onClick={(by) => open("deny", by)}
        >
          Deny…
        </Button>
      )}
      {mayApprove && (
        <Button
          {...yes}
          look="primary"
          icon="check"
          hint={isTyped ? undefined : "a"}
          className="max-sm:h-12 sm:order-4"
          busy={busy !== undefined}
          onClick={approve}
        >
          {isTyped ? "Approve…" : "Approve once"}
        </Button>
      )}
      {maySay(approval, "modify") && (
        <Button
          {...other}
          {...yes}
          look="plain"
          icon="pencil"
          hint="e"
          className={remembers ? "max-sm:h-10 sm:order-1" : "max-sm:col-span-2 max-sm:h-10 sm:order-1"}
          onClick={(by) => open("edit", by)}
        >
          Edit…
        </Button>
      )}
      {remembers && (
        <Button
          {...other}
          {...yes}
          look="plain"
          icon="clock"
          className="max-sm:h-10 sm:order-1"
          onClick={(by) => open("remember", by)}
        >
          Remember…
        </Button>
      )}
      <span className="contents max-sm:[&>button]:col-span-2 max-sm:[&>button]:h-10 sm:[&>button]:order-1">
        {withdraw}
      </span>
      <span className="max-sm:hidden sm:order-2 sm:flex-1" />
    </div>
  );
}
