import { useLayoutEffect, useRef } from "react";
import type { Press } from "./use-armed.ts";

/**
 * Single keys, for as long as the component is there. Never while something is typed, while a dialog is open, with a
 * modifier, or by a key that is held down. What a key does changes in one with what is drawn: on a busy machine an effect
 * would come later, and a press would find what was there before.
 */
export function useKeys(keys: Readonly<Record<string, ((press: Press) => void) | undefined>>): void {
  const latest = useRef(keys);
  useLayoutEffect(() => {
    latest.current = keys;
  });
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target instanceof Element ? event.target : undefined;
      if (
        target?.closest("input, textarea, select, [contenteditable], dialog") ||
        document.querySelector("dialog[open]")
      )
        return;
      const act = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act(event);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}
