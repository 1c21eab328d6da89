import { type ReactNode, useState } from "react";
import { type ApprovalView, markOf, mayDecide, plainSentence, stateOf } from "../../api/index.ts";
import {
  actorText,
  Button,
  classNames,
  ErrorNotice,
  late,
  type Press,
  StateBadge,
  stateWord,
  Text,
  Time,
  useIsOver,
  useKeys,
} from "../../kit/index.ts";
import { type DecidingOptions, tooEarly, useArmed, useDeciding } from "./deciding.ts";
import { ApproveDialog, DenyDialog } from "./dialogs.tsx";

const dialogs = {
  approve: ApproveDialog,
  deny: DenyDialog,
  edit: late(async () => (await import("./edit-dialog.tsx")).EditDialog),
  remember: late(async () => (await import("./remember.tsx")).RememberDialog),
};
type DialogName = keyof typeof dialogs;

interface DecideBarProps extends Omit<DecidingOptions, "hasChanged" | "onNameNeeded"> {
  /** As it is now. */
  readonly approval: ApprovalView;
  /** What changed since the person looked. */
  readonly changed: ReactNode;
  /** Why nothing can be approved here: what is shown does not have its digest. */
  readonly mismatch: string | undefined;
}

/** Always in sight. Deny is as near as approve. */
export function DecideBar({ approval, changed, mismatch, ...options }: DecideBarProps): ReactNode {
  const { meant } = options;
  const hasChanged = changed !== undefined;
  const [open, setOpen] = useState<DialogName>();
  const onNameNeeded = (): void => setOpen((now) => (now === "edit" ? now : "approve"));
  const deciding = useDeciding({ ...options, hasChanged, onNameNeeded });
  const [problem, setProblem] = useState<string>();
  const isExpired = useIsOver(approval.expires_at);
  const isOpen = approval.status === "pending" && !isExpired && (approval.viewer?.may.length ?? 0) > 0;
  const armed = useArmed(`${approval.status} ${markOf(meant)}`);
  const isReady = armed.isArmed && !hasChanged;
  const isBusy = deciding.busy !== undefined;
  const press = (what: DialogName | "withdraw" | "revoke", by: Press): void => {
    setProblem(undefined);
    if (mismatch !== undefined && (what === "approve" || what === "edit" || what === "remember")) return;
    if (hasChanged || !armed.takes(by)) armed.tooEarly();
    else if (what === "edit" || what === "deny" || what === "remember") setOpen(what);
    else if (what === "approve" && deciding.needsName) setOpen("approve");
    else void deciding.send({ verb: what }).then(setProblem);
  };
  const keyFor = (verb: "approve" | "modify" | "deny", what: DialogName): ((by: Press) => void) | undefined =>
    isOpen && open === undefined && mayDecide(approval, verb) ? (by) => press(what, by) : undefined;
  useKeys({ a: keyFor("approve", "approve"), e: keyFor("modify", "edit"), d: keyFor("deny", "deny") });
  const withdraw = approval.viewer?.withdraws === true && (
    <Button
      look="plain"
      title="You or an agent of yours asked for it: take the request back. The tool does not run."
      aria-disabled={!isReady || undefined}
      disabled={isBusy}
      onClick={(by) => press("withdraw", by)}
    >
      Withdraw
    </Button>
  );
  const revoke = approval.status === "approved" && deciding.mayRevoke && (
    <Button
      look="danger"
      size="small"
      className="ml-auto"
      aria-disabled={!isReady || undefined}
      busy={isBusy}
      onClick={(by) => press("revoke", by)}
    >
      Revoke
    </Button>
  );
  const OpenDialog = open && dialogs[open];
  return (
    <footer data-armed={isReady ? "yes" : "no"} className="relative border-t border-line bg-surface px-4 py-3 lg:px-6">
      {!armed.isArmed && (
        <span
          key={armed.round}
          aria-hidden="true"
          className="absolute inset-x-0 top-0 h-0.5 origin-left animate-arm bg-accent"
        />
      )}
      <p id="decide-waits" role="status" className={hasChanged ? "mb-2 text-medium" : "sr-only"}>
        {hasChanged ? "It changed. Read what is new, then press “Understood” to decide." : !armed.isArmed && tooEarly}
      </p>
      <div className="mb-2 grid gap-2 empty:hidden">
        <ErrorNotice>{isOpen ? mismatch : undefined}</ErrorNotice>
        <ErrorNotice>{problem}</ErrorNotice>
      </div>
      {isOpen ? (
        <DecideButtons
          approval={approval}
          isBusy={isBusy}
          needsName={deciding.needsName}
          isReady={isReady}
          mayApproveNow={isReady && mismatch === undefined}
          withdraw={withdraw}
          press={press}
        />
      ) : (
        <Closed approval={approval} isExpired={isExpired}>
          {approval.status === "pending" ? !isExpired && withdraw : revoke}
        </Closed>
      )}
      {OpenDialog && (
        <OpenDialog approval={meant} deciding={deciding} changed={changed} onClose={() => setOpen(undefined)} />
      )}
    </footer>
  );
}

type DecideButtonsProps = Readonly<{
  approval: ApprovalView;
  isBusy: boolean;
  /** Whether an approval needs the tool's name typed. */
  needsName: boolean;
  isReady: boolean;
  mayApproveNow: boolean;
  press: (what: DialogName, by: Press) => void;
  withdraw: ReactNode;
}>;

/** Until they are ready, the buttons stay in the order of the keyboard and say that they wait. */
function DecideButtons(props: DecideButtonsProps): ReactNode {
  const { approval, isBusy, needsName, isReady, mayApproveNow, press, withdraw } = props;
  const mayApprove = mayDecide(approval, "approve");
  const remembers = mayApprove && approval.remembers_allowed && !needsName;
  const { viewer } = approval;
  const message = viewer?.message;
  const propsOf = (what: DialogName) => ({
    disabled: isBusy,
    "aria-disabled": what === "deny" ? !isReady || undefined : !mayApproveNow || undefined,
    "aria-describedby": isReady ? undefined : "decide-waits",
    onClick: (by: Press) => press(what, by),
  });
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-2">
      {!mayApprove && message !== undefined && (
        <p className="w-full text-ink-2 max-sm:col-span-2">
          <Text>{viewer?.why_not === "voted" ? votesText(approval) : plainSentence(message)}</Text>
        </p>
      )}
      {mayDecide(approval, "deny") && (
        <Button
          {...propsOf("deny")}
          look="danger"
          icon="cross"
          hint="d"
          className={classNames("max-sm:h-12 sm:order-3", !mayApprove && "max-sm:col-span-2")}
        >
          Deny…
        </Button>
      )}
      {mayApprove && (
        <Button
          {...propsOf("approve")}
          look="primary"
          icon="check"
          hint={needsName ? undefined : "a"}
          className="max-sm:h-12 sm:order-4"
          busy={isBusy}
        >
          {approveWords(approval, needsName)}
        </Button>
      )}
      {mayDecide(approval, "modify") && (
        <Button
          {...propsOf("edit")}
          look="plain"
          icon="pencil"
          hint="e"
          className={classNames("max-sm:h-10 sm:order-1", !remembers && "max-sm:col-span-2")}
        >
          Edit…
        </Button>
      )}
      {remembers && (
        <Button {...propsOf("remember")} look="plain" icon="clock" className="max-sm:h-10 sm:order-1">
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

function votesText({ routed: { quorum }, quorum_left: left }: ApprovalView): string {
  return `Approved by ${quorum - left} of ${quorum}: ${left} more ${left === 1 ? "person" : "people"} must approve.`;
}

/** With a quorum: which of the approvals it would be. */
function approveWords({ routed: { quorum }, quorum_left: left }: ApprovalView, needsName: boolean): string {
  const words = quorum > 1 ? `Approve · ${quorum - left + 1} of ${quorum}` : needsName ? "Approve" : "Approve once";
  return needsName ? `${words}…` : words;
}

type ClosedProps = Readonly<{ approval: ApprovalView; isExpired: boolean; children: ReactNode }>;

/** It is decided, or this person cannot decide it. */
function Closed({ approval, isExpired, children }: ClosedProps): ReactNode {
  const { status, decision, expires_at, viewer } = approval;
  if (status === "pending")
    return (
      <div className="flex flex-wrap items-center justify-between gap-2 text-ink-2">
        <p>
          {isExpired ? (
            <>
              It expired <Time at={expires_at} /> without a decision, so the tool does not run.
            </>
          ) : (
            viewer?.message !== undefined && <Text>{plainSentence(viewer.message)}</Text>
          )}
        </p>
        {children}
      </div>
    );
  return (
    <p className="flex flex-wrap items-center gap-2" role="status">
      {decision?.as !== status && <StateBadge state={stateOf(approval)} />}
      {decision !== undefined && (
        <span className="inline-block first-letter:uppercase">
          {stateWord(decision.as)} by <Text className="font-medium">{actorText(decision.by, decision.via)}</Text>{" "}
          <Time at={decision.at} />
          {decision.reason !== undefined && <Text className="text-ink-2">{` “${decision.reason}”`}</Text>}
        </span>
      )}
      {children}
    </p>
  );
}
