/** Tests read the packages from their sources, without a build: here, and in every process that a test starts. */
const condition = "postern-source";
const conditions = [condition, "node", "development|production"];

/** A part of a Vite configuration. */
export const fromSources = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  environments: { __vitest__: { resolve: { conditions } } }, // global set-up
} as const;

/** The environment of processes. */
export const sourcesInProcesses = { NODE_OPTIONS: `--conditions=${condition}` } as const;
