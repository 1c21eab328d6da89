import { useEffect, useState } from "react";
import type { ApprovalView } from "../../api/approvals.ts";
import { type Doubts, doubtsOf } from "../../api/checked.ts";

/** What of the card does not have its digest, as soon as it is known; a yes waits for it by itself. */
export function useDoubts(approval: ApprovalView | undefined): Doubts {
  const [found, setFound] = useState<{ readonly id: string; readonly doubts: Doubts }>();
  useEffect(() => {
    let isCurrent = true;
    if (approval !== undefined)
      void doubtsOf(approval).then((doubts) => {
        if (isCurrent) setFound({ id: approval.approval_id, doubts });
      });
    return () => {
      isCurrent = false;
    };
  }, [approval]);
  return found?.id === approval?.approval_id ? found?.doubts : undefined;
}
