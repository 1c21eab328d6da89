/** How times, durations, numbers and names of people are written. */

export function actorText(by: string, via: string | undefined): string {
  return via === undefined ? by : `${by} (${via})`;
}

export function number(value: number): string {
  return value.toLocaleString("en");
}

/** `1 call`, `2,000 calls`. */
export function counted(count: number, noun: string): string {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

const exactly = new Intl.DateTimeFormat("en-GB", {
  year: "numeric",
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});

/** `29 Nov 2026, 19:04:05 CET`: in the reader's zone. */
export function exactTime(at: Date): string {
  return exactly.format(at);
}

const units: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["day", 86_400],
  ["hour", 3_600],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "narrow" });

export function relative(atMs: number, nowMs: number): string {
  const seconds = Math.round((atMs - nowMs) / 1_000);
  if (Math.abs(seconds) < 60) return "now"; // no second ticks in a row
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? (["minute", 60] as const);
  return words.format(Math.trunc(seconds / size), unit);
}

/** `840 ms`, `4.2 s`, `3 min 05 s`, `2 h 10 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1_000) return `${Math.floor(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** For what counts down: seconds are said only in the last minute. */
export function coarse(ms: number): string {
  return ms < 60_000 || ms >= 3_600_000 ? duration(ms) : `${Math.floor(ms / 60_000)} min`;
}

export function maybeDuration(ms: number | undefined): string {
  return ms === undefined ? "–" : duration(ms);
}
