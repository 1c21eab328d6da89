import type { Action, Offer } from "./tool.ts";

const made = new WeakMap<Action, Offer>();

/** An action without its functions; the same object for the same action. */
export function offerOf(action: Action): Offer {
  const known = made.get(action);
  if (known !== undefined) return known;
  const {
    parse: _parse,
    classifyRisk: _classifyRisk,
    execute: _execute,
    reconcile: _reconcile,
    preview,
    ...data
  } = action;
  const offer: Offer = Object.freeze({ ...data, previews: preview !== undefined });
  made.set(action, offer);
  return offer;
}
