import type { ReactNode } from "react";
import type { ApprovalView } from "../../api/approvals.ts";
import { Button } from "../../kit/button.tsx";
import { Diff } from "../../kit/diff.tsx";
import { hunks } from "../../kit/hunks.ts";
import { mostInControl } from "../../kit/large-text.tsx";
import { Notice } from "../../kit/states.tsx";

/** Nothing is decided before this is read: what is another than when the person looked. */
export function ChangedNotice({
  before,
  now,
  onUnderstood,
}: {
  readonly before: ApprovalView;
  readonly now: ApprovalView;
  readonly onUnderstood: () => void;
}): ReactNode {
  const [asked, would] = [before, now].map(({ what }) => JSON.stringify(what.arguments, null, 2));
  const isOther = asked !== would;
  return (
    <Notice tone="medium">
      <div className="grid justify-items-start gap-2">
        <p>
          This request changed while you looked at it. What you see now is what would run
          {before.risk_level !== now.risk_level && `; its risk was ${before.risk_level} and is ${now.risk_level} now`}
          {JSON.stringify(before.routed) !== JSON.stringify(now.routed) && "; others decide now"}
          {!isOther && before.preview_digest !== now.preview_digest && "; the preview is another"}.
        </p>
        {isOther && asked !== undefined && would !== undefined && asked.length + would.length < mostInControl && (
          <div className="max-h-48 w-full overflow-y-auto text-ink">
            <Diff text={hunks(asked, would)} />
          </div>
        )}
        <Button size="small" onClick={onUnderstood}>
          Understood
        </Button>
      </div>
    </Notice>
  );
}
