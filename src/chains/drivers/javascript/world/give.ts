/** As the engine's own are: there, replaceable, and not listed. */
export function give(name: string, value: unknown, owner: object = globalThis): void {
  Object.defineProperty(owner, name, { value, writable: true, configurable: true, enumerable: false });
}
