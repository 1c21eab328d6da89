const longest = 200;

/** A wrong value as a message shows it, at most 200 characters long. Never throws. */
export function shown(value: unknown): string {
  if (value === undefined) return "missing";
  const text = textOf(value);
  return text.length > longest ? `${text.slice(0, longest).toWellFormed()}…` : text.toWellFormed();
}

function textOf(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value !== "object") return typeof value === "string" ? JSON.stringify(value) : String(value);
  try {
    return JSON.stringify(value);
  } catch {
    return Object.prototype.toString.call(value); // a cycle or a throwing getter: only its kind can be shown
  }
}

/** `1 call`, `2 calls`. @param several the plural, if it does not end in `s` */
export function counted(number: number, one: string, several = `${one}s`): string {
  return `${number} ${number === 1 ? one : several}`;
}

/** In one unit: `850 ms`, `12 s`, `4 min`, `3 h`, `2 d`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** A name that is safe to show: everything but printable ASCII is escaped. */
export function visible(name: unknown): string {
  if (typeof name !== "string") return `A ${name === null ? "null" : typeof name}`;
  const shown = [...name.slice(0, 100)].map((letter) => {
    const point = letter.codePointAt(0) ?? 0;
    return point >= 0x20 && point < 0x7f && letter !== "`" ? letter : `\\u{${point.toString(16)}}`;
  });
  return `\`${shown.join("")}\``;
}

/** At most so many characters, cut on a code point boundary and marked. */
export function shortened(text: string, maxLength: number): string {
  const sound = text.toWellFormed();
  if (sound.length <= maxLength) return sound;
  const head = sound.slice(0, maxLength - 1);
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…`;
}

/** A person's text as a sentence: with a full stop, unless it ends one already. Blanks around it are removed. */
export function asSentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?…。！？][)"'”’»\]]*$/u.test(trimmed) ? trimmed : `${trimmed}.`;
}

/**
 * The known word nearest to a mistyped one. Returns undefined when none is near enough or two are equally near.
 *
 * @param mostEdits by default one for every three letters, and one at least
 */
export function nearest(
  word: string,
  known: readonly string[],
  mostEdits: number = Math.max(1, Math.floor(word.length / 3)),
): string | undefined {
  let least = mostEdits;
  let best: readonly string[] = [];
  for (const name of new Set(known)) {
    if (Math.abs(word.length - name.length) > least) continue; // needs at least this many edits
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance > least) continue;
    best = distance < least ? [name] : [...best, name];
    least = distance;
  }
  return best.length === 1 ? best[0] : undefined;
}

/** Levenshtein distance, where a swap of neighbours is one edit. Words longer than 64 characters are not compared. */
function editDistance(one: string, other: string): number {
  if (one.length > 64 || other.length > 64) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, j) => j);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[other.length] ?? 0;
}
