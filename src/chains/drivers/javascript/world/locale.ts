/** English alone is here, and UTC: another language would be guessed, and a wrong number reads like a right one. */

export type Locale = "en-US" | "en-GB";

/** @throws RangeError for a language that is not here */
export function localeOf(given: unknown): Locale {
  const [first = "en-US"] = Array.isArray(given) ? given : [given];
  const name = String(first ?? "en-US");
  if (/^en(?:-US)?$/i.test(name)) return "en-US";
  if (/^en-GB$/i.test(name)) return "en-GB";
  throw new RangeError(
    `Scripts know the locales en-US and en-GB; \`${name.slice(0, 40)}\` is not here. Put the text together yourself.`,
  );
}

/** @throws RangeError for an option that would be passed over */
export function onlyKnown(options: object, known: ReadonlySet<string>, what: string): void {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !known.has(name))
      throw new RangeError(`\`${name}\` of ${what} is not here; there are ${[...known].join(", ")}.`);
}
