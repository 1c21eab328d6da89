/** `structuredClone` of plain values, dates, patterns, maps, sets, errors, bytes, and what refers to itself. */
export function cloned(value: unknown, seen: Map<object, unknown> = new Map()): unknown {
  if (typeof value === "function" || typeof value === "symbol")
    throw new TypeError(`${String(value).slice(0, 80)} could not be cloned.`);
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const keep = <Made extends object>(made: Made): Made => {
    seen.set(value, made);
    return made;
  };
  if (value instanceof Date) return keep(new Date(value));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (value instanceof Uint8Array) return keep(Uint8Array.from(value));
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet)
    throw new TypeError("It could not be cloned.");
  if (value instanceof Map) {
    const made = keep(new Map<unknown, unknown>());
    for (const [key, one] of value) made.set(cloned(key, seen), cloned(one, seen));
    return made;
  }
  if (value instanceof Set) {
    const made = keep(new Set<unknown>());
    for (const one of value) made.add(cloned(one, seen));
    return made;
  }
  if (value instanceof Error)
    return keep(Object.assign(new Error(value.message), { name: value.name, stack: value.stack }));
  const made = keep(Array.isArray(value) ? new Array<unknown>(value.length) : {});
  for (const [name, one] of Object.entries(value))
    Object.defineProperty(made, name, {
      value: cloned(one, seen),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  return made;
}
