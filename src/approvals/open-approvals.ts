import { Book } from "./book.ts";
import { Delegations } from "./delegations.ts";
import { Givers, type GiversHouse } from "./givers.ts";
import { Grants, type GrantsOptions } from "./grants.ts";
import { type ApprovalRoute, Routing } from "./routing.ts";

export interface ApprovalsHouse extends Omit<GrantsOptions, "store" | "givers">, Pick<GiversHouse, "people"> {
  readonly store: ConstructorParameters<typeof Book>[0]["store"];
  readonly ttlMs?: number | undefined;
  readonly routes?: readonly ApprovalRoute[] | undefined;
  readonly separateUser?: boolean | undefined;
  readonly accountsExist?: (() => boolean) | undefined;
  readonly closing: AsyncDisposableStack;
}

export interface OpenApprovals {
  readonly book: Book;
  readonly grants: Grants;
  readonly delegations: Delegations;
  readonly givers: Givers;
}

const hourMs = 3_600_000;

/** With what was open, granted and delegated when the store was closed. */
export async function openApprovals(house: ApprovalsHouse): Promise<OpenApprovals> {
  const { closing, people, ttlMs = hourMs, routes, separateUser, accountsExist = () => people.exist } = house;
  const routing = new Routing(routes, separateUser);
  const book = closing.use(new Book({ ...house, ttlMs, routing }));
  await book.watchOpen();
  const delegations = await Delegations.open(house);
  const givers = new Givers({ routing, delegations, people, accountsExist });
  return { book, grants: closing.use(await Grants.open({ ...house, givers })), delegations, givers };
}
