import type { Addressees, ApprovalRecord, Routed } from "../calls/records.ts";
import { isSamePerson } from "../calls/same-person.ts";

/** What holds of a record that was made before there were routes. */
export const unrouted: Routed = Object.freeze({
  rule: "default",
  to: {},
  quorum: 1,
  typedConfirmation: false,
  separateUser: false,
  signedIn: false,
  remembers: false,
});

/** How many different persons must still say yes. */
export function votesLeft({ routed = unrouted, votes = [] }: ApprovalRecord, quorum: number = routed.quorum): number {
  return Math.max(0, quorum - votes.filter(({ as }) => as === "approved").length);
}

/** Of the record and of what is demanded now, the more, by the route that demands it. Whom it was sent to is asked of both apart. */
export function stricter(recorded: Routed, present: Routed): Routed {
  const demand = {
    ...recorded,
    to: isOpen(recorded.to) && !isOpen(present.to) ? present.to : recorded.to,
    quorum: Math.max(recorded.quorum, present.quorum),
    typedConfirmation: recorded.typedConfirmation || present.typedConfirmation,
    separateUser: recorded.separateUser || present.separateUser,
    signedIn: recorded.signedIn || present.signedIn,
    remembers: recorded.remembers && present.remembers,
  };
  const isMore = demanded.some((what) => demand[what] !== recorded[what]);
  return isMore ? { ...demand, rule: present.rule } : demand;
}

const demanded = ["to", "quorum", "typedConfirmation", "separateUser", "signedIn", "remembers"] as const;

/** Whether nobody in particular is named. */
export function isOpen({ roles = [], groups = [], users = [] }: Addressees): boolean {
  return roles.length + groups.length + users.length === 0;
}

/** Whether this person is one of them. */
export function isAmong(
  { roles = [], groups = [], users = [] }: Addressees,
  person: { readonly user: string; readonly roles?: readonly string[]; readonly groups?: readonly string[] },
): boolean {
  return (
    users.some((user) => isSamePerson(user, person.user)) ||
    roles.some((role) => person.roles?.includes(role) === true) ||
    groups.some((group) => person.groups?.includes(group) === true)
  );
}
