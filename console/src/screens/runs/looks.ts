/** Waiting for a person, wherever it is drawn. */
export const hatched: string =
  "border border-accent bg-[repeating-linear-gradient(135deg,color-mix(in_srgb,var(--color-accent)_38%,transparent)_0_3px,transparent_3px_7px)]";
