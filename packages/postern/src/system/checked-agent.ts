import type { LookupFunction } from "node:net";
import type { Target } from "@postern/core/system";
import { Agent } from "undici";

/** Connects to exactly the address that was checked, whatever the name means by then. Without limits of time of its own. */
export function checkedAgent({
  address: { address, family },
}: Pick<Extract<Target, { readonly allowed: true }>, "address">): Agent {
  const lookup: LookupFunction = (_host, { all }, callback) =>
    all === true ? callback(null, [{ address, family }]) : callback(null, address, family);
  return new Agent({ connect: { lookup }, headersTimeout: 0, bodyTimeout: 0 });
}
