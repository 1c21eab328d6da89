import { actorOf as actorOfDecider } from "../../approvals/decision.ts";
import type { Actor } from "../../core/actor.ts";
import { roles } from "../../identity/roles.ts";
import type { Decider } from "../../runtime/api.ts";
import type { Who } from "../credentials.ts";

/**
 * Who decides, with what routes of approvals ask of a person. The operator's token stands for every role, as it has every
 * permission; where people have accounts, it is nobody's sign-in.
 */
export function deciderOf(by: Who): Decider {
  const { decider, account, credential } = by;
  if (credential === "operator-token") return { ...decider, roles };
  return {
    ...decider,
    signedIn: credential === "session",
    ...(account !== undefined && { roles: account.roles, groups: account.groups }),
  };
}

/** Whose act it is, in the log of all that people do by hand. Whoever holds the data folder is confined to no tenant. */
export function actorOf({ decider, principal, credential }: Who): Actor {
  const { by, via } = actorOfDecider(decider);
  return { by, via, ...(credential !== "operator-token" && { tenant: principal.tenant }) };
}
