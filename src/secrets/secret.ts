import { inspect } from "node:util";
import type { Secret } from "./secret-store.ts";

/** A value behind one verb. `given` is asked each time, so that whoever made the secret can end it. */
export function hiddenSecret(given: () => string): Secret {
  const show = (): string => "[secret]";
  return Object.freeze({
    reveal: () => given(),
    toString: show,
    toJSON: show,
    [inspect.custom]: show,
  });
}
