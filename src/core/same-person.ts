/** A person's name as accounts spell it: there is one spelling of each. */
export function spelled(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

/** Whether two names are one person's: accounts would be one, and who has none yet may have one tomorrow. */
export function isSamePerson(one: string, other: string | undefined): boolean {
  return other !== undefined && spelled(one) === spelled(other);
}
