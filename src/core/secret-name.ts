/** The characters of connectors and keys. A name cannot be an option of a command (`-x`) or lead up a tree (`..`). */
const name = String.raw`(?!-)(?!\.+(?![\w.\-]))[\w.\-]{1,128}`;

/** Matches one connector or key. */
export const secretNamePattern: RegExp = new RegExp(`^${name}$`);

/** Matches `connector/key`; for use in larger patterns. */
export const secretPathPattern: string = `(${name})/(${name})`;
