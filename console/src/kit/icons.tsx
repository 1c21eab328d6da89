import type { ReactNode } from "react";

/** On a 16-unit grid. They accompany words, so they are hidden from screen readers. */
const paths = {
  needs: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 5v3.6M8 11h.01",
  servers: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  approvals: "M2 9.5h3.2l1 2h3.6l1-2H14M2 9.5 4 3h8l2 6.5V13H2z",
  overview: "M2.5 13.5v-4m3.7 4v-8m3.7 8v-5.5m3.6 5.5v-11",
  runs: "M2 4h6M5 8h7M4 12h4M10.5 4H14M14.2 8h.1M10.5 12h2",
  calls: "M2.5 4h11M2.5 8h11M2.5 12h11M2 4h.1M2 8h.1M2 12h.1",
  tools:
    "M9.6 2.6a3.6 3.6 0 0 0-4.3 4.8L2.2 10.5a1.6 1.6 0 1 0 2.3 2.3l3.1-3.1a3.6 3.6 0 0 0 4.8-4.3L10.2 7.6 8.4 7l-.6-1.8z",
  policy: "M8 1.8 13 4v3.6c0 3.2-2 5.6-5 6.6-3-1-5-3.4-5-6.6V4zM5.8 8l1.6 1.6 2.9-3.1",
  audit: "M3 2.5h7l3 3v8H3zM10 2.5v3h3M5.5 8.2h5M5.5 10.8h5",
  alarms: "M4 11.5V7a4 4 0 0 1 8 0v4.5M2.5 11.5h11M6.6 13.6h2.8",
  connections:
    "M6.6 9.4l2.8-2.8M7.2 4.6l1.7-1.7a2.9 2.9 0 0 1 4.2 4.2l-1.7 1.7M8.8 11.4l-1.7 1.7a2.9 2.9 0 0 1-4.2-4.2l1.7-1.7",
  sun: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1v1.4M8 13.6V15M1 8h1.4M13.6 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z",
  check: "m3 8.4 3.2 3.2L13 4.8",
  cross: "m4 4 8 8m0-8-8 8",
  pencil: "M2.8 13.2 3.5 10l7-7 2.5 2.5-7 7zM9.2 4.3l2.5 2.5",
  clock: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 4.8V8l2.2 1.6",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.4 10.4l3.4 3.4",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  right: "m6 3.5 4.5 4.5L6 12.5",
  down: "m3.5 6 4.5 4.5L12.5 6",
  back: "M10 3.5 5.5 8l4.5 4.5",
  warning: "M8 2.4 14.4 13.4H1.6zM8 6.6v3.2M8 11.7h.01",
  lock: "M3.5 7.2h9v6.3h-9zM5.5 7.2V5a2.5 2.5 0 0 1 5 0v2.2",
  person: "M8 2.5a2.6 2.6 0 1 1 0 5.2 2.6 2.6 0 0 1 0-5.2zM2.8 13.6a5.2 5.2 0 0 1 10.4 0",
  contrast: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 2v12M8 5.5h4.6M8 8h5.8M8 10.5h4.6",
  download: "M8 2v7.5M4.8 6.6 8 9.8l3.2-3.2M2.5 12.8h11",
  people:
    "M5.8 3a2.3 2.3 0 1 1 0 4.6 2.3 2.3 0 0 1 0-4.6zM1.5 13a4.3 4.3 0 0 1 8.6 0M10.6 3.3a2.1 2.1 0 0 1 0 4M11.6 9.2A4 4 0 0 1 14.5 13",
  help: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM6.2 6.4a1.8 1.8 0 1 1 2.6 1.6c-.5.3-.8.6-.8 1.2M8 11.3h.01",
  play: "M5 3.2v9.6L12.6 8z",
  pause: "M5.2 3.2v9.6M10.8 3.2v9.6",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      className="shrink-0"
    >
      <path d={paths[name]} />
    </svg>
  );
}
