/** A person's text as a sentence: with a full stop, unless it ends one already. Blanks around it are removed. */
export function asSentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?…。！？][)"'”’»\]]*$/u.test(trimmed) ? trimmed : `${trimmed}.`;
}
