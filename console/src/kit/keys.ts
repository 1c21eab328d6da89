import { useLayoutEffect, useRef } from "react";

/** The time of the press. A busy page may handle it much later. */
export type Press = Pick<Event, "timeStamp">;

/**
 * Whether a person types, or a dialog is open: then a key means something else. The focus may still be in a dialog that
 * was closed: it is removed a moment later.
 */
export function isTaken({ target, defaultPrevented, repeat }: KeyboardEvent): boolean {
  const field = target instanceof Element ? target.closest("input, textarea, select, [contenteditable]") : null;
  return repeat || defaultPrevented || field !== null || document.querySelector("dialog[open]") !== null;
}

/**
 * Single keys. They do nothing while a person types, while a dialog is open, with a modifier, or when held down. They
 * change together with what is drawn: an effect would run later, and a press would act on what was there before.
 */
export function useKeys(keys: Readonly<Record<string, ((press: Press) => void) | undefined>>): void {
  const latest = useRef(keys);
  useLayoutEffect(() => {
    latest.current = keys;
  });
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
      const act = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act(event);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}
