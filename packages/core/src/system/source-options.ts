/**
 * The options of a Node process or worker that reads the packages from their sources, as this one does. A worker or a child
 * does not inherit the condition. In a built package: none.
 */
export const sourceOptions: readonly string[] = import.meta.url.endsWith(".ts") ? ["--conditions=postern-source"] : [];
