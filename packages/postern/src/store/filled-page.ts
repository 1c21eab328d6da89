import type { CallRecord } from "@postern/core";
import type { CallFilter } from "./store.ts";

const leastRead = 100;

/** The newest rows that pass the filter, up to the limit. The store cannot apply the filter itself, so pages are read until one is full. */
export async function filledPage(
  read: (where: CallFilter) => Promise<readonly CallRecord[]>,
  where: CallFilter & { readonly limit: number },
  isWanted: (record: CallRecord) => boolean,
): Promise<readonly CallRecord[]> {
  const found: CallRecord[] = [];
  const limit = Math.max(where.limit, leastRead);
  for (let { before } = where; ; ) {
    const page = await read({ ...where, limit, ...(before !== undefined && { before }) });
    found.push(...page.filter(isWanted));
    before = page.at(-1)?.call.id;
    if (found.length >= where.limit || page.length < limit) return found.slice(0, where.limit);
  }
}
