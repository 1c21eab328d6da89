import { nearest } from "../calls/nearest.ts";

const mostListed = 40;

/** The first of them, and how many there are. */
export function nameList(names: readonly string[]): string {
  const shown = names.slice(0, mostListed).join(", ");
  return names.length > mostListed ? `${shown}, … (${names.length} in all)` : shown || "none";
}

/** What there is instead of what there is not: the one that was meant, when one is near, and the list. */
export function insteadOf(name: string, names: readonly string[]): string {
  const meant = nearest(
    name,
    names.map((one) => one.slice(one.lastIndexOf(".") + 1)),
  );
  return `${meant === undefined ? "" : `Did you mean \`${meant}\`? `}Available: ${nameList(names)}`;
}
