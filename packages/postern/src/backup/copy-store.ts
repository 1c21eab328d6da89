/**
 * Copies a store into an empty one of any kind: its rows, its documents and its log, entry by entry, so that every
 * checkpoint still fits. Both are in use by this process alone.
 */
import { RuntimeFault } from "@postern/core";
import { Tree } from "../audit/tree.ts";
import type { OpenRows } from "../store/store-rows.ts";

/** What a store holds, to compare two. */
export interface StoreSummary {
  readonly calls: number;
  readonly approvals: number;
  readonly waiting: number;
  readonly documents: number;
  /** What the statistics count, added up. */
  readonly counted: number;
  readonly events: number;
  /** Root over the log, 64 hex digits. */
  readonly root: string;
}

/**
 * Returns what both hold.
 *
 * @throws RuntimeFault `store_not_empty`, and `store_unwritable` if the copy is not what was copied
 */
export async function copyStore(from: OpenRows, to: OpenRows): Promise<StoreSummary> {
  for await (const _ of to.read()) {
    const found =
      "The target of a copy must be a new store, and this one has rows in it: each start or command on it writes some.";
    throw new RuntimeFault("store_not_empty", `${found} Name a new file, or with \`?schema=NAME\` a new schema.`);
  }
  for await (const rows of from.read()) await to.add(rows);
  const [wanted, found] = [await summaryOf(from), await summaryOf(to)];
  for (const name of Object.keys(wanted) as (keyof StoreSummary)[]) {
    if (wanted[name] === found[name]) continue;
    const message = `The copy is not what was copied: \`${name}\` is ${found[name]} there and ${wanted[name]} here. Do not use it.`;
    throw new RuntimeFault("store_unwritable", message);
  }
  await to.keep();
  return found;
}

async function summaryOf(store: OpenRows): Promise<StoreSummary> {
  const tree = new Tree();
  const counts = { calls: 0, approvals: 0, waiting: 0, documents: 0, counted: 0 };
  for await (const { calls = [], approvals = [], documents = [], statistics = [], entries = [] } of store.read()) {
    counts.calls += calls.length;
    counts.approvals += approvals.length;
    counts.waiting += approvals.filter(({ state }) => state === "pending").length;
    counts.documents += documents.length;
    for (const { count } of statistics) counts.counted += count;
    for (const { seq, body } of entries) {
      if (seq !== tree.size) throw new RuntimeFault("store_unreadable", `Entry ${tree.size} of the log is missing.`);
      tree.append(body);
    }
  }
  return { ...counts, events: tree.size, root: tree.root() };
}
