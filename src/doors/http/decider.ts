import { roles } from "../../accounts/roles.ts";
import type { Decider } from "../../face.ts";
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
