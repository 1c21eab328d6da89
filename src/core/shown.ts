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
