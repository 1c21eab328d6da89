/** A person's text as the end of a sentence: with a full stop, unless it ends with a mark of its own. */
export function asSentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?…。！？]["'”’)\]]?$/u.test(trimmed) || trimmed === "" ? trimmed : `${trimmed}.`;
}
