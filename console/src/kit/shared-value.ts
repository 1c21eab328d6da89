import { useSyncExternalStore } from "react";

/** A value of the whole page. Components that use it are drawn again when it changes. */
export class SharedValue<Value> {
  #value: Value;
  readonly #listeners = new Set<() => void>();

  constructor(first: Value) {
    this.#value = first;
  }

  get value(): Value {
    return this.#value;
  }

  set(next: Value): void {
    this.#value = next;
    for (const listener of this.#listeners) listener();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

/** @param partOf returns the same object as long as nothing has changed */
export function useShared<Value, Part>(shared: SharedValue<Value>, partOf: (value: Value) => Part): Part {
  return useSyncExternalStore(shared.subscribe, () => partOf(shared.value));
}
