import type { ApprovalRecord } from "../calls/records.ts";
import type { Waiting } from "../stores/urgency.ts";

export interface ApprovalPage {
  readonly approvals: readonly ApprovalRecord[];
  /** Where the next page begins; none: there is no more. */
  readonly nextAfter?: string;
  /** On the first page of what is pending: how many there are, by risk, whichever risk the page is of. */
  readonly waiting?: Waiting;
}
