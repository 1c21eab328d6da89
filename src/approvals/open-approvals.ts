import { Book } from "./book.ts";
import { Delegations } from "./delegations.ts";
import { Grants, type GrantsOptions } from "./grants.ts";
import { type ApprovalRoute, Routing } from "./routing.ts";

export interface ApprovalsHouse extends Omit<GrantsOptions, "store"> {
  readonly store: ConstructorParameters<typeof Book>[0]["store"];
  readonly ttlMs?: number | undefined;
  readonly routes?: readonly ApprovalRoute[] | undefined;
  readonly separateUser?: boolean | undefined;
  readonly closing: AsyncDisposableStack;
}

export interface OpenApprovals {
  readonly book: Book;
  readonly grants: Grants;
  readonly delegations: Delegations;
}

const hourMs = 3_600_000;

/** With what was open, granted and delegated when the store was closed. */
export async function openApprovals(house: ApprovalsHouse): Promise<OpenApprovals> {
  const { closing, ttlMs = hourMs, routes, separateUser } = house;
  const book = closing.use(new Book({ ...house, ttlMs, routing: new Routing(routes, separateUser) }));
  await book.watchOpen();
  return { book, grants: closing.use(await Grants.open(house)), delegations: await Delegations.open(house) };
}
