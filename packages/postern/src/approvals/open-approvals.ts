import { Eligibility } from "./eligibility.ts";
import { Grants, type GrantsOptions } from "./grants.ts";
import type { People } from "./people.ts";
import { ApprovalRepository, type RepositoryOptions } from "./repository.ts";
import { type ApprovalRoute, Routing } from "./routes.ts";

export interface ApprovalsOptions
  extends Omit<GrantsOptions, "store" | "eligibility">,
    Pick<RepositoryOptions, "store"> {
  readonly people: People;
  readonly ttlMs?: number | undefined;
  readonly maxOpenPerAgent?: number | undefined;
  readonly routes?: readonly ApprovalRoute[] | undefined;
  readonly separateUser?: boolean | undefined;
  readonly accountsExist?: (() => boolean) | undefined;
  readonly closing: AsyncDisposableStack;
}

export interface OpenApprovals {
  readonly approvals: ApprovalRepository;
  readonly grants: Grants;
  readonly eligibility: Eligibility;
}

const hourMs = 3_600_000;
const usualMostOpen = 2_000;

/** Opens approvals with the requests and grants in the store. */
export async function openApprovals(options: ApprovalsOptions): Promise<OpenApprovals> {
  const { closing, people, routes, separateUser, accountsExist = () => people.exist } = options;
  const { ttlMs = hourMs, maxOpenPerAgent = usualMostOpen } = options;
  const routing = new Routing(routes, separateUser);
  const approvals = closing.use(new ApprovalRepository({ ...options, ttlMs, maxOpenPerAgent, routing }));
  await approvals.watchOpen();
  const eligibility = new Eligibility({ routing, people, accountsExist });
  const grants = closing.use(await Grants.open({ ...options, eligibility }));
  return { approvals, grants, eligibility };
}
