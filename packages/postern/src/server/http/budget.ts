import { canonical, refusals } from "@postern/core";
import { isFromOperator } from "../../call/authority.ts";
import type { RuntimeSession } from "../../runtime/api/api.ts";
import type { Who } from "../credentials.ts";
import { problem } from "./answers.ts";
import type { ServerContext } from "./route.ts";

type Spender = Pick<ServerContext, "windows"> & { readonly by: Who };

/**
 * One budget for each principal, as its credential names it, and for each run of the operator's side. Other callers open
 * no budget by naming a run. A session's calls belong to the credential that opened it, so two credentials share none.
 */
export function inBudget<T>(
  { windows, by: { principal, scopes } }: Spender,
  runId: string | undefined,
  then: (session: RuntimeSession) => Promise<T>,
): Promise<T> {
  const { tenant, agent, user = null, via = null } = principal;
  const run = isFromOperator(principal) ? runId : undefined;
  const whose = canonical([tenant, agent, user, via, run ?? windows.today]);
  return windows.use(whose, { principal, scopes }, then);
}

/**
 * Counts a request of an agent that stores something and is no call, so that every store has a number. Returns the
 * refusal if the budget is used up. A person has no budget.
 */
export async function spendOne(spender: Spender): Promise<Response | undefined> {
  if (spender.by.kind === "person") return undefined;
  const isCounted = await inBudget(spender, undefined, async (session) => session.spend());
  return isCounted ? undefined : problem("budget_exhausted", refusals.budget_exhausted.message);
}
