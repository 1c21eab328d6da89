import { type ReactNode, useState } from "react";
import { type ApprovalView, markOf, mayDecide } from "../../api/index.ts";
import { ErrorNotice, late, useIsOver } from "../../kit/index.ts";
import { Closed, DecideButtons, type DialogName, Withdraw } from "./decide-buttons.tsx";
import {
  type Armed,
  type Deciding,
  type DecidingOptions,
  type Press,
  tooEarly,
  useArmed,
  useDeciding,
  useKeys,
} from "./deciding.ts";
import { ApproveDialog, type DecideDialogProps, DenyDialog } from "./dialogs.tsx";

const EditDialog = late(async () => (await import("./edit-dialog.tsx")).EditDialog);
const RememberDialog = late(async () => (await import("./remember.tsx")).RememberDialog);

interface DecideBarProps extends Omit<DecidingOptions, "isHeld" | "onNameNeeded"> {
  /** As it is now. */
  readonly approval: ApprovalView;
  /** What changed since the person looked. */
  readonly changed: ReactNode;
  /** Why nothing can be approved here: what is shown does not have its digest. */
  readonly doubt: string | undefined;
}

/** Always in sight. Deny is as near as approve. */
export function DecideBar(props: DecideBarProps): ReactNode {
  const { approval, meant, changed, doubt } = props;
  const { deciding, isExpired, isOpen, isReady, isHeld, armed, problem, open, setOpen, press } = useBar(props);
  const { busy } = deciding;
  const withdraw = (
    <Withdraw approval={approval} busy={busy} isReady={isReady} onPress={(by) => press("withdraw", by)} />
  );
  return (
    <footer data-armed={isReady ? "yes" : "no"} className="relative border-t border-line bg-surface px-4 py-3 lg:px-6">
      <WhyNotYet armed={armed} isHeld={isHeld} />
      <div className="mb-2 grid gap-2 empty:hidden">
        <ErrorNotice>{isOpen ? doubt : undefined}</ErrorNotice>
        <ErrorNotice>{problem}</ErrorNotice>
      </div>
      {isOpen ? (
        <DecideButtons
          approval={approval}
          busy={busy}
          needsName={deciding.needsName}
          isReady={isReady}
          mayApproveNow={isReady && doubt === undefined}
          withdraw={withdraw}
          press={press}
        />
      ) : (
        <Closed
          approval={approval}
          deciding={deciding}
          isExpired={isExpired}
          isReady={isReady}
          onRevoke={(by) => press("revoke", by)}
        >
          {!isExpired && withdraw}
        </Closed>
      )}
      <OpenDialog
        open={open}
        approval={meant}
        deciding={deciding}
        changed={changed}
        onClose={() => setOpen(undefined)}
      />
    </footer>
  );
}

interface Bar {
  readonly deciding: Deciding;
  readonly isExpired: boolean;
  /** Whether this person can decide something here. */
  readonly isOpen: boolean;
  /** Whether a press counts. */
  readonly isReady: boolean;
  /** Whether a change has to be acknowledged first. */
  readonly isHeld: boolean;
  readonly armed: Armed;
  readonly problem: string | undefined;
  readonly open: DialogName | undefined;
  readonly setOpen: (open: DialogName | undefined) => void;
  readonly press: (what: DialogName | "withdraw" | "revoke", by: Press) => void;
}

function useBar({ approval, changed, doubt, ...options }: DecideBarProps): Bar {
  const { meant } = options;
  const isHeld = changed !== undefined;
  const [open, setOpen] = useState<DialogName>();
  const onNameNeeded = (): void => setOpen((now) => (now === "edit" ? now : "approve"));
  const deciding = useDeciding({ ...options, isHeld, onNameNeeded });
  const [problem, setProblem] = useState<string>();
  const isExpired = useIsOver(approval.expires_at);
  const isOpen = approval.status === "pending" && !isExpired && (approval.viewer?.may.length ?? 0) > 0;
  const armed = useArmed(`${approval.status} ${markOf(meant)}`);
  const isReady = armed.isArmed && !isHeld;
  const press: Bar["press"] = (what, by) => {
    setProblem(undefined);
    if (doubt !== undefined && (what === "approve" || what === "edit" || what === "remember")) return;
    if (isHeld || !armed.takes(by)) armed.tooEarly();
    else if (what === "edit" || what === "deny" || what === "remember") setOpen(what);
    else if (what === "approve" && deciding.needsName) setOpen("approve");
    else void deciding.send({ verb: what }).then(setProblem);
  };
  const keyFor = (verb: "approve" | "modify" | "deny", what: DialogName): ((by: Press) => void) | undefined =>
    isOpen && open === undefined && mayDecide(approval, verb) ? (by) => press(what, by) : undefined;
  useKeys({ a: keyFor("approve", "approve"), e: keyFor("modify", "edit"), d: keyFor("deny", "deny") });
  return { deciding, isExpired, isOpen, isReady, isHeld, armed, problem, open, setOpen, press };
}

type OpenDialogProps = DecideDialogProps & Readonly<{ open: DialogName | undefined }>;

function OpenDialog({ open, ...dialog }: OpenDialogProps): ReactNode {
  switch (open) {
    case "approve":
      return <ApproveDialog {...dialog} />;
    case "remember":
      return <RememberDialog {...dialog} />;
    case "edit":
      return <EditDialog {...dialog} />;
    case "deny":
      return <DenyDialog {...dialog} />;
    default:
      return null;
  }
}

type WhyNotYetProps = Readonly<{ armed: Armed; isHeld: boolean }>;

/** Why the buttons do nothing yet: a line that fills, and a sentence for screen readers. */
function WhyNotYet({ armed: { isArmed, round }, isHeld }: WhyNotYetProps): ReactNode {
  return (
    <>
      {!isArmed && (
        <span
          key={round}
          aria-hidden="true"
          className="absolute inset-x-0 top-0 h-0.5 origin-left animate-arm bg-accent"
        />
      )}
      <p id="decide-waits" role="status" className={isHeld ? "mb-2 text-medium" : "sr-only"}>
        {isHeld ? "It changed. Read what is new, then press “Understood” to decide." : !isArmed && tooEarly}
      </p>
    </>
  );
}
